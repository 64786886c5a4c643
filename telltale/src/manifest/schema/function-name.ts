const FUNCTION_IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;

const RESERVED = new Set(
  'arguments await break case catch class const continue debugger default delete do else enum eval export extends false finally for function if implements import in instanceof interface let new null package private protected public return static super switch this throw true try typeof var void while with yield'.split(
    ' ',
  ),
);

/** Every JavaScript realm has functions with these names, so a method could not be distinguished from them. */
const EVERYWHERE: ReadonlySet<string> = new Set(Object.getOwnPropertyNames(Object.prototype));

/** A module that exports `then` cannot be imported, because it is treated as a promise. */
const THENABLE = 'then';

/** Whether an artifact's method can have this name. */
export const isFunctionName = (name: string): boolean =>
  FUNCTION_IDENTIFIER.test(name) && !RESERVED.has(name) && !EVERYWHERE.has(name) && name !== THENABLE;
