export { chunk } from './chunk.js';
export { zip } from './zip.js';
