import { z } from 'zod';

export const MAX_NAME_LENGTH = 128;

const NAME = /^[A-Za-z_][A-Za-z0-9_-]*$/;
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Names of manifests, steps, states, feeds and output keys: letters, digits, `_` and `-`, not beginning with a
 * digit. No dot: `$name.path` and `${steps.NAME.output}` split there.
 */
export const name = (description: string) =>
  z.string().check(z.maxLength(MAX_NAME_LENGTH), z.regex(NAME)).register(z.globalRegistry, {
    description,
    expects: 'a name of letters, digits, "_" and "-" that begins with a letter or "_"',
  });

/** Names that stand bare in CEL (context variables, metadata fields, loop variables): no `-`, which is minus there. */
export const identifier = (description: string) =>
  z.string().check(z.maxLength(MAX_NAME_LENGTH), z.regex(IDENTIFIER)).register(z.globalRegistry, {
    description,
    expects: 'a name of letters, digits and "_" that begins with a letter or "_" ("-" is minus in CEL)',
  });

/** The name of something that need not be ours (an MCP tool, a target, a reference to be resolved): any text. */
export const targetName = (description: string) =>
  z
    .string()
    .check(z.minLength(1), z.maxLength(1024))
    .register(z.globalRegistry, { description, expects: 'a name' });

export const text = (description: string) =>
  z.string().register(z.globalRegistry, { description, expects: 'text' });

export const nonEmptyText = (description: string) =>
  z.string().min(1).register(z.globalRegistry, { description, expects: 'text that is not empty' });

/** Unquoted, YAML reads 1.0 as the number 1. */
export const version = () =>
  z.string().register(z.globalRegistry, {
    description: 'A version of your own, in quotes.',
    expects: 'text in quotes, like "1.0"',
  });
