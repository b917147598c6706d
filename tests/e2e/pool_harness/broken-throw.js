throw new TypeError("thrown at load");
