import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { RuntimeError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import { nearest } from '../../lib/nearest.ts';
import { makeFolder } from '../../manifest/files.ts';
import type { RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../command.ts';
import type { Io } from '../io.ts';
import { usage } from '../options.ts';

interface SchemaOptions {
  readonly json?: true;
  readonly out?: string;
}

const EXAMPLES = `
Examples:
  $ telltale schema                   the kinds of manifests
  $ telltale schema Agent             the JSON Schema of one kind
  $ telltale schema --out .telltale   all of them, one file each

An editor with the YAML language server checks a manifest as you type if its first
line is
  # yaml-language-server: $schema=.telltale/Agent.json
`;

export const registerSchema: RegisterCommand = (program, { io, run }) => {
  program
    .command('schema')
    .summary('print the JSON Schema of a kind of manifest')
    .description(
      'Prints the JSON Schema of a kind of manifest. It is generated from the definitions that "validate" uses.',
    )
    .argument('[kind]', 'Agent, Tool, Relic, Artifact or Workflow; leave it out to list the kinds')
    .option('--out <dir>', 'write KIND.json into this folder; all kinds if none is named')
    .option('--json', 'list the kinds as JSON (a schema is JSON anyway)')
    .addHelpText('after', EXAMPLES)
    .action(run((kind: string | undefined, options: SchemaOptions) => schema(kind, options, io)));
};

async function schema(asked: string | undefined, options: SchemaOptions, io: Io): Promise<ExitCode> {
  const { MANIFEST_KINDS, manifestJsonSchema } = await import('../../manifest/check-manifest.ts');
  const kind = MANIFEST_KINDS.find((known) => known.toLowerCase() === asked?.toLowerCase());
  if (asked !== undefined && kind === undefined) throw kindUnknown(asked, MANIFEST_KINDS);
  const kinds = kind === undefined ? MANIFEST_KINDS : [kind];
  const textOf = (each: (typeof kinds)[number]) => `${JSON.stringify(manifestJsonSchema(each), null, 2)}\n`;
  if (options.out !== undefined) {
    if (options.out === '') throw usage('--out names no folder.', 'Write --out . for the current one.');
    const folder = resolve(io.cwd, options.out);
    for (const each of kinds) {
      await write(folder, `${each}.json`, textOf(each));
      if (!options.json) await io.stdout.write(`${join(options.out, `${each}.json`)}\n`);
    }
    if (options.json)
      await io.stdout.write(`${JSON.stringify(kinds.map((each) => join(folder, `${each}.json`)))}\n`);
  } else if (kind !== undefined) await io.stdout.write(textOf(kind));
  else if (options.json) await io.stdout.write(`${JSON.stringify(MANIFEST_KINDS)}\n`);
  else
    await io.stdout.write(
      `${MANIFEST_KINDS.map((each) => listed(each, manifestJsonSchema(each))).join('\n')}\n`,
    );
  return EXIT.ok;
}

/** The schema's root refers to a definition of the kind's name, which has the description. */
function listed(kind: string, schema: JsonObject): string {
  const { $defs } = schema as {
    readonly $defs?: { readonly [kind: string]: { readonly description?: string } };
  };
  return `${kind.padEnd(10)}${$defs?.[kind]?.description ?? ''}`.trimEnd();
}

async function write(folder: string, name: string, text: string): Promise<void> {
  try {
    await makeFolder(folder);
    await writeFile(join(folder, name), text);
  } catch (thrown) {
    throw cannotWrite(join(folder, name), thrown as NodeJS.ErrnoException);
  }
}

const kindUnknown = (asked: string, known: readonly string[]) => {
  const near = nearest(asked, known);
  return usage(
    `There is no kind '${asked}'.`,
    near === undefined ? `Kinds: ${known.join(', ')}.` : `Did you mean ${near}?`,
  );
};

const REASONS: ReadonlyMap<string | undefined, string> = new Map([
  ['EEXIST', 'its folder is a file'],
  ['ENOTDIR', 'a part of its path is a file'],
  ['EISDIR', 'it is a folder'],
  ['EACCES', 'permission denied'],
  ['EPERM', 'permission denied'],
  ['EROFS', 'the file system is read-only'],
  ['ENOSPC', 'the disk is full'],
  ['ENOENT', 'its folder cannot be created'],
]);

const cannotWrite = (path: string, cause: NodeJS.ErrnoException) =>
  new RuntimeError(
    'cannot_write',
    `${path} cannot be written: ${REASONS.get(cause.code) ?? cause.message}.`,
    {
      hint: 'Name a folder that you may write to.',
      cause,
    },
  );
