/**
 * A function that runs in the page, from its source: the types of the tests know nothing of documents, on purpose, since
 * what they test must run without one. Playwright sends its source; here it is only compiled.
 */
export const inPage = <Argument, Result>(source: string): ((argument: Argument) => Result) =>
  new Function(`return ${source}`)() as (argument: Argument) => Result;
