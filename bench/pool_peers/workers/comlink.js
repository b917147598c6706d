import { expose } from "comlink";
import { tasks } from "./tasks.js";

expose(tasks);
