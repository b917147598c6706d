import "./missing-nested.js";
