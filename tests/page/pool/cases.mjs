/** The cases that have a name, in one process. */

import "./boot.test.mjs";
import "./running.test.mjs";
import "./giving-up.test.mjs";
import "./ending.test.mjs";
