import { resolve } from 'node:path';
import { Document, isMap, isSeq, type YAMLMap } from 'yaml';
import { ok } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { Diagnostic, IssuePath } from '../manifest/diagnostic.ts';
import type { Files } from '../manifest/files.ts';
import { loadManifests } from '../manifest/load-manifests.ts';
import type { ImportedFile, Importer, ImportOptions, MadeFile } from './importer.ts';
import { readSources } from './sources.ts';
import { listOf, mapOf } from './values.ts';

const WIDTH = 110;

/** A manifest as YAML, with comments at its head and in front of its steps. */
export function yamlOf(
  manifest: JsonObject,
  head: readonly string[],
  remarksOf: (step: string) => readonly string[] = () => [],
): string {
  const document = new Document(manifest, { aliasDuplicateObjects: false });
  for (const [path, name] of stepsIn(manifest.steps, ['steps'])) {
    const remarks = remarksOf(name);
    const node = document.getIn(path, true);
    if (remarks.length > 0 && isMap(node)) (node as YAMLMap).commentBefore = comment(remarks);
  }
  document.commentBefore = comment(head);
  if (isSeq(document.contents) || isMap(document.contents)) document.contents.spaceBefore = true;
  // An empty line of a comment is a "#" alone: without one it would end there.
  return document.toString({ lineWidth: 0, indentSeq: true }).replace(/^# $/gm, '#');
}

/** The steps of a workflow and of their bodies: the path of each, and its name. */
const stepsIn = (steps: Json | undefined, path: IssuePath): readonly (readonly [IssuePath, string])[] =>
  listOf(steps).flatMap((each, index) => {
    const { name, body } = mapOf(each);
    const at = [...path, index];
    return [[at, String(name)] as const, ...stepsIn(body, [...at, 'body'])];
  });

/** Everything that may end a line, and other characters that a comment cannot have. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
const BREAK = /\r\n|[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u2028\u2029\ufeff]/;

const comment = (texts: readonly string[]): string =>
  texts
    .flatMap((text) => text.split(BREAK).flatMap(folded))
    .map((line) => ` ${line}`)
    .join('\n');

/** The line in several ones of at most `WIDTH` characters, broken between words. */
function folded(line: string): readonly string[] {
  const lines: string[] = [];
  let now = '';
  for (const word of line.split(' ')) {
    if (now !== '' && now.length + word.length + 1 > WIDTH) {
      lines.push(now);
      now = word;
    } else now = now === '' ? word : `${now} ${word}`;
  }
  return [...lines, now];
}

/**
 * Reads the paths, converts them and checks what was made as `telltale validate` does. Nothing is written. A file whose
 * manifests do not validate counts as not imported.
 */
export async function importSources(
  paths: readonly string[],
  importer: Importer,
  options: ImportOptions,
): Promise<readonly ImportedFile[]> {
  // With links resolved: validation compares paths with the folder that imports may not leave.
  const out = await options.files.realPath(options.out);
  const { files, failed } = await readSources(paths, importer, options);
  const imported = files.length === 0 ? [] : await importer.import(files, { ...options, out });
  return [...failed, ...(await withValid(imported, { ...options, out }))];
}

/** Drops what does not validate, again and again: what imports a dropped manifest does not validate either. */
async function withValid(
  imported: readonly ImportedFile[],
  options: ImportOptions,
): Promise<readonly ImportedFile[]> {
  const errors = await errorsIn(
    imported.flatMap(({ made }) => made?.files ?? []),
    options,
  );
  if (errors.length === 0) return imported;
  const checked = imported.map((each): ImportedFile => {
    const paths = new Set(each.made?.files.map(({ path }) => path));
    const own = errors.filter(({ file }) => paths.has(file));
    if (own.length === 0) return each;
    const diagnostics = own.map(({ message, hint, file, line }): Diagnostic => {
      const place = line === undefined ? file : `${file}:${line}`;
      return {
        severity: 'error',
        code: 'import_not_valid',
        file: each.file,
        message: `The manifest made of it is not valid: ${message} (${place})`,
        ...(hint === undefined ? {} : { hint }),
      };
    });
    return { file: each.file, diagnostics: [...each.diagnostics, ...diagnostics] };
  });
  const dropped = checked.some(
    ({ made }, index) => made === undefined && imported[index]?.made !== undefined,
  );
  return dropped ? withValid(checked, options) : checked;
}

/** What is wrong with manifests that are not written yet: they stand in front of what is on the disk. */
async function errorsIn(
  made: readonly MadeFile[],
  { out, files, signal }: ImportOptions,
): Promise<readonly Diagnostic[]> {
  const texts = new Map(made.map(({ path, text }) => [resolve(out, path), text]));
  const overlay: Files = {
    ...files,
    async read(path, maxBytes) {
      const text = texts.get(path);
      return text === undefined ? files.read(path, maxBytes) : ok(new TextEncoder().encode(text));
    },
    realPath: async (path) => (texts.has(path) ? path : files.realPath(path)),
    exists: async (path) => texts.has(path) || files.exists(path),
  };
  const manifests = [...texts.keys()].filter((path) => /\.(ya?ml|json)$/.test(path));
  const { diagnostics } = await loadManifests(manifests, {
    env: {},
    cwd: out,
    root: out,
    files: overlay,
    signal,
  });
  return diagnostics.filter(({ severity }) => severity === 'error');
}
