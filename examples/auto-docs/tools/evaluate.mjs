import * as library from '../project/src/text.js';

/** node evaluate.mjs EXPRESSION: prints its value, with the functions of the library in scope. */
const [expression = ''] = process.argv.slice(2);
const value = new Function(...Object.keys(library), `return (${expression});`)(...Object.values(library));
process.stdout.write(String(value));
