const FUNCTION_IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;

const RESERVED = new Set(
  'arguments await break case catch class const continue debugger default delete do else enum eval export extends false finally for function if implements import in instanceof interface let new null package private protected public return static super switch this throw true try typeof var void while with yield'.split(
    ' ',
  ),
);

/** Every world of JavaScript has functions of these names, so that a method could not be told from them. */
const EVERYWHERE: ReadonlySet<string> = new Set(Object.getOwnPropertyNames(Object.prototype));

/** An ES module that exports it cannot be loaded: it is taken for a promise. */
const THENABLE = 'then';

/** Whether a method of an artifact can have that name. */
export const isFunctionName = (name: string): boolean =>
  FUNCTION_IDENTIFIER.test(name) && !RESERVED.has(name) && !EVERYWHERE.has(name) && name !== THENABLE;
