/** Several CEL tests that must all hold; undefined if there is none. */
export function allOf(tests: readonly (string | undefined)[]): string | undefined {
  const given = tests.filter((test) => test !== undefined && test !== 'true') as readonly string[];
  return given.length < 2 ? given[0] : given.map((test) => bracketed(test, /[|?]/)).join(' && ');
}

/** Several CEL tests of which one must hold. */
export const anyOf = (tests: readonly string[]): string =>
  tests.length < 2 ? (tests[0] ?? 'false') : tests.map((test) => bracketed(test, /[&?]/)).join(' || ');

/** The test, in brackets if one of these operators stands outside of brackets and strings. */
function bracketed(test: string, operators: RegExp): string {
  let bare = test.replace(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g, '""');
  for (let before = ''; before !== bare; ) {
    before = bare;
    bare = bare.replace(/\([^()[\]]*\)|\[[^()[\]]*\]/g, '');
  }
  return operators.test(bare) ? `(${test})` : test;
}
