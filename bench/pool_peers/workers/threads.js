// @ts-expect-error: the package states no types for its ES module
import { expose } from "threads/worker";
import { tasks } from "./tasks.js";

expose(tasks);
