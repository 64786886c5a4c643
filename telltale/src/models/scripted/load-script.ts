import { isAbsolute, resolve } from 'node:path';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { decodeSource } from '../../manifest/decode-source.ts';
import type { Diagnostic } from '../../manifest/diagnostic.ts';
import { fileFinding } from '../../manifest/files/file-finding.ts';
import { createNodeFiles } from '../../manifest/files/node-files.ts';
import { quoted } from '../../manifest/printable.ts';
import { readScript } from './read-script.ts';
import type { Script } from './script.ts';

/** Bytes of a script: a recorded session of a few million tokens. */
const MAX_SCRIPT_BYTES = 32 * 1024 * 1024;

/** Reads a `scripted:` file. `file` is relative to `folder`, and is what errors call it. */
export async function loadScript(file: string, folder: string): Promise<Script> {
  const read = await createNodeFiles().read(resolve(folder, file), MAX_SCRIPT_BYTES);
  if (!read.ok) {
    if (read.error.type === 'too_large') throw scriptTooLarge(file, read.error.bytes);
    const { code, message, hint } = fileFinding(read.error, file);
    // One that `--model` names may stand where the command is given, and is not looked for there.
    const where = isAbsolute(file) || code !== 'file_missing' ? undefined : lookedFor(folder);
    throw new RuntimeError(code, message, { hint: [hint, where].filter(Boolean).join(' ') });
  }
  const decoded = decodeSource(file, read.value);
  if (!decoded.ok) throw scriptInvalid([decoded.diagnostic]);
  const { source } = decoded;
  const script = readScript(source);
  if (!script.ok) throw scriptInvalid(script.diagnostics);
  return script.script;
}

const lookedFor = (folder: string) => `Paths are relative to the folder of the agent's manifest: ${folder}.`;

/** The first mistake in the words of the error, and how many more there are. */
function scriptInvalid(diagnostics: readonly Diagnostic[]): RuntimeError {
  const [first] = diagnostics;
  if (first === undefined) return new RuntimeError('script_invalid', 'The script cannot be read.');
  const { file, line, column, message, hint } = first;
  const place = line === undefined ? file : `${file}:${line}:${column ?? 1}`;
  const more = diagnostics.length - 1;
  const others = more === 0 ? undefined : `${more} more ${more === 1 ? 'mistake' : 'mistakes'} in this file.`;
  return new RuntimeError('script_invalid', `${place}: ${message}`, {
    hint: [hint, others].filter((part) => part !== undefined).join(' ') || undefined,
  });
}

const scriptTooLarge = (file: string, bytes: number) =>
  new RuntimeError(
    'file_too_large',
    `${quoted(file)} has ${bytes.toLocaleString('en')} bytes, but a script can have at most ${MAX_SCRIPT_BYTES.toLocaleString('en')}.`,
    { hint: 'Split it. "first_turn" sets the turn that a file begins with.' },
  );
