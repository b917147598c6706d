/** The tests' worker, in a browser that refuses locks. */

import "./deny-locks.js";
import "./tasks.js";
