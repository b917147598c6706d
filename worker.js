/**
 * A dedicated worker that runs Python tasks.
 */

import { bootRuntime } from "./page/runtime.js";
import { serveTasks } from "./page/task-server.js";

serveTasks(bootRuntime);
