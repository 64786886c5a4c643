/**
 * The price in cents, after a discount in percent.
 * @param {number} cents
 * @param {number} percent
 */
export const reduced = (cents, percent) => Math.floor(cents - (cents * percent) / 100);
