import type { JsonObject } from '../../../kernel/json.ts';
import { RuntimeError } from '../../../kernel/runtime-error.ts';
import { pathNeed, together } from '../../access/need.ts';
import { defineOperations, type Operation, operationMembers } from '../../operations.ts';
import type { Need, Target, TargetCall } from '../../target.ts';
import type { TargetDeps } from '../../target-edges.ts';
import { type Edit, editedFile } from './edit-file.ts';
import { globPaths } from './glob-paths.ts';
import { grepFiles, type Search } from './grep-files.ts';
import { listFolder, treeOf } from './list-folder.ts';
import { readLines } from './read-file.ts';
import { MAX_TEXT_BYTES, writeTextFile } from './text-file.ts';
import { WriteGuard } from './write-guard.ts';

const PATH = { type: 'string' };
const WHAT = 'tool "filesystem"';
const DEFAULT_DEPTH = 3;
const MAX_DEPTH = 16;

/** Files and folders inside `permissions.paths`. */
export function filesystem({ permissions, clock, folder }: TargetDeps): Target {
  const { paths } = permissions;
  const at = (input: JsonObject, { granted }: Pick<TargetCall, 'granted'>) =>
    paths.resolve(text(input, 'path') ?? '.', granted);
  const guard = new WriteGuard(permissions, folder);
  const operations: Readonly<Record<string, Operation>> = {
    read: {
      description: 'shows a text file, or some lines of it',
      parameters: {
        path: PATH,
        offset: { type: 'integer', minimum: 1, description: 'First line, from 1.' },
        limit: { type: 'integer', minimum: 1, maximum: 100_000, description: 'Lines.' },
      },
      required: ['path'],
      idempotent: true,
      run: async (input, call) => readLines(await at(input, call), input),
    },
    write: {
      description: 'creates a file and its folders, or replaces the whole file',
      parameters: { path: PATH, content: { type: 'string' } },
      required: ['path', 'content'],
      idempotent: true,
      async run(input, call) {
        const path = await at(input, call);
        const content = text(input, 'content') ?? '';
        const bytes = Buffer.byteLength(content);
        if (bytes > MAX_TEXT_BYTES) throw contentTooLarge(bytes);
        await guard.check({ path, content }, call.granted);
        await writeTextFile(path, content);
        return { path: path.shown, bytes, created: !path.exists };
      },
    },
    edit: {
      description: 'replaces a text that occurs exactly once in the file',
      parameters: {
        path: PATH,
        old_text: { type: 'string', description: 'Without line numbers.' },
        new_text: { type: 'string' },
        replace_all: { type: 'boolean', description: 'true: every occurrence.' },
      },
      required: ['path', 'old_text', 'new_text'],
      idempotent: false,
      async run(input, call) {
        const path = await at(input, call);
        await guard.checkPlace(path);
        const { before, after, result } = await editedFile(path, input as unknown as Edit);
        await guard.check({ path, content: after, before }, call.granted);
        await writeTextFile(path, after);
        return result;
      },
    },
    list: {
      description: 'lists a folder',
      parameters: { path: PATH },
      idempotent: true,
      run: async (input, call) => listFolder(await at(input, call), call.signal),
    },
    tree: {
      description: 'lists a folder and everything below it',
      parameters: {
        path: PATH,
        depth: {
          type: 'integer',
          minimum: 1,
          maximum: MAX_DEPTH,
          description: `Levels; default ${DEFAULT_DEPTH}.`,
        },
      },
      idempotent: true,
      run: async (input, call) =>
        treeOf(
          await at(input, call),
          typeof input.depth === 'number' ? input.depth : DEFAULT_DEPTH,
          call.signal,
        ),
    },
    glob: {
      description: 'finds files by path',
      parameters: {
        path: PATH,
        pattern: {
          type: 'string',
          description: 'A glob such as src/**/*.ts.',
        },
      },
      required: ['pattern'],
      idempotent: true,
      run: async (input, call) => globPaths(text(input, 'pattern') ?? '', await at(input, call), call.signal),
    },
    grep: {
      description: 'finds lines in files',
      parameters: {
        path: PATH,
        pattern: { type: 'string', description: 'A regular expression (RE2).' },
        glob: { type: 'string', description: 'Only files like **/*.ts.' },
        ignore_case: { type: 'boolean' },
        limit: { type: 'integer', minimum: 1, maximum: 1000, description: 'Matches.' },
      },
      required: ['pattern'],
      idempotent: true,
      run: async (input, call) =>
        grepFiles(await at(input, call), input as unknown as Search, { signal: call.signal, clock }),
    },
  };
  const needsOf = async (input: JsonObject): Promise<Need | undefined> => {
    const operation = String(text(input, 'operation'));
    const need = await pathNeed(paths, text(input, 'path') ?? '.', WHAT, operation);
    if (permissions.manifests.length === 0 || (operation !== 'write' && operation !== 'edit')) return need;
    const path = await at(input, { granted: need?.grants });
    if (operation === 'write')
      return together(need, await guard.need({ path, content: text(input, 'content') ?? '' }, WHAT));
    // An edit that cannot be made is refused when it runs.
    const edited = await editedFile(path, input as unknown as Edit).catch(() => undefined);
    if (edited === undefined) return need;
    return together(need, await guard.need({ path, content: edited.after, before: edited.before }, WHAT));
  };
  const defined = defineOperations(WHAT, operations);
  return {
    kind: 'tool',
    name: 'filesystem',
    description:
      'Works with files. Paths are relative to the working folder. "read" shows each line after its number and a tab, which are not part of the file; "$id.content" is the text. Lists and searches give "$id.entries", "$id.paths" or "$id.matches" (path, line, text).',
    ...operationMembers(defined),
    start: 'on_close',
    example: {
      input: { operation: 'read', path: 'package.json' },
      output: { path: 'package.json', content: '{ "name": "shop", "version": "1.4.0" }\n', lines: 1 },
      answer: 'The version is 1.4.0.',
    },
    ...(paths.asks || permissions.manifests.length > 0 ? { needs: needsOf } : {}),
    run: defined.run,
  };
}

const text = (input: JsonObject, key: string): string | undefined =>
  typeof input[key] === 'string' ? input[key] : undefined;

const contentTooLarge = (bytes: number) =>
  new RuntimeError('bad_parameters', `"/content" has ${bytes} bytes; ${MAX_TEXT_BYTES} are allowed.`);
