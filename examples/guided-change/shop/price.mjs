/**
 * What is to be paid, in cents, after a discount of so many percent.
 * @param {number} cents
 * @param {number} percent
 */
export const reduced = (cents, percent) => Math.floor(cents - (cents * percent) / 100);
