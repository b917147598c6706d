import { javascriptTasks, serveTasks } from "../../../page/task-server.js";
import { tasks } from "./tasks.js";

serveTasks(javascriptTasks(tasks));
