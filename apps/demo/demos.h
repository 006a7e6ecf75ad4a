// SPDX-License-Identifier: Apache-2.0
//
// The demos, one file each.
#pragma once

#include "demo/demo_run.h"

namespace quire::apps {

Status DemoAds(DemoRun* run);
Status DemoAttributes(DemoRun* run);
Status DemoCatalog(DemoRun* run);
Status DemoCategories(DemoRun* run);
Status DemoCms(DemoRun* run);
Status DemoComments(DemoRun* run);
Status DemoContacts(DemoRun* run);
Status DemoEvents(DemoRun* run);
Status DemoGame(DemoRun* run);
Status DemoInbox(DemoRun* run);
Status DemoInventory(DemoRun* run);
Status DemoNodes(DemoRun* run);
Status DemoOrders(DemoRun* run);
Status DemoPerf(DemoRun* run);
Status DemoReports(DemoRun* run);
Status DemoRollups(DemoRun* run);
Status DemoSocial(DemoRun* run);
Status DemoTransfers(DemoRun* run);

}  // namespace quire::apps
