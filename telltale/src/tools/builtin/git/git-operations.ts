import { RuntimeError } from '../../../lib/errors.ts';
import type { Json, JsonObject } from '../../../lib/json.ts';
import type { Operation } from '../../operations.ts';

/** Accepts only the name of a remote, because an address would bypass the check of its host. */
export function remoteOf(input: JsonObject): string {
  const remote = reference(input, 'remote') ?? 'origin';
  if (/^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(remote)) return remote;
  throw new RuntimeError(
    'bad_parameters',
    `"/remote" is "${remote.slice(0, 100)}", which is not the name of a remote.`,
    {
      hint: 'Give a name such as "origin", not an address.',
    },
  );
}

export const flag = (input: JsonObject, key: string, option: string): readonly string[] =>
  input[key] === true ? [option] : [];

const refs = (input: JsonObject, ...keys: readonly string[]): readonly string[] =>
  keys.flatMap((key) => reference(input, key) ?? []);

/**
 * Rejects a leading dash, which git would read as an option, and a leading plus, which would overwrite what a remote or
 * a branch has.
 */
export function reference(input: JsonObject, key: string): string | undefined {
  const value: Json | undefined = input[key];
  if (typeof value !== 'string') return undefined;
  if (!/^[-+]|[\0-\x20\x7f:]/.test(value)) return value;
  throw new RuntimeError(
    'bad_parameters',
    `"/${key}" is ${JSON.stringify(value.slice(0, 100))}, which is not a valid name of a branch or commit.`,
    {
      hint: 'Give the name of a branch or tag, or a commit.',
    },
  );
}

export const paths = (input: JsonObject): readonly string[] => [
  '--',
  ...(Array.isArray(input.paths) ? input.paths.map((path: Json) => `:(literal)${String(path)}`) : []),
];

/** One operation as git arguments. Every reference and path of a call is checked and follows `--`. */
export interface GitOperation extends Omit<Operation, 'run'> {
  args(input: JsonObject): readonly string[];
  /** Whether it connects to another machine. */
  readonly remote?: true;
  readonly commits?: true;
  /** Whether it changes files of the work tree. Those files are then checked first. */
  readonly changes?: 'checkout' | 'merge' | 'pull';
  /** Parameters that must name commits. The id of a blob would show a file without a check of its path. */
  readonly commitsIn?: readonly string[];
  /**
   * Whether it stages, shows or restores files beyond those that the call names. Its arguments then end with pathspecs.
   */
  reachesFiles?(input: JsonObject): boolean;
}

const PATHS = { type: 'array', items: { type: 'string', minLength: 1 }, description: 'Files or folders.' };
const REF = { type: 'string', minLength: 1, description: 'A commit, branch or tag.' };
const LIMIT = { type: 'integer', minimum: 1, maximum: 1000, description: 'Default 20.' };
const MESSAGE = { type: 'string', minLength: 1 };
const FOLDER = { type: 'string', description: 'A folder in the repository.' };
const REMOTE = { type: 'string', minLength: 1, description: 'Default origin.' };
const BRANCH = { type: 'string', minLength: 1 };
const SAFE_DIFF = ['--no-ext-diff', '--no-textconv'];

const operation = (
  description: string,
  parameters: Readonly<Record<string, JsonObject>>,
  args: GitOperation['args'],
  more: Partial<GitOperation> = {},
): GitOperation => ({
  description,
  parameters: { ...parameters, path: FOLDER },
  args,
  idempotent: false,
  ...more,
});

const READ = { idempotent: true } as const;

export const GIT_OPERATIONS: Readonly<Record<string, GitOperation>> = {
  status: operation('shows what has changed', {}, () => ['status', '--short', '--branch'], READ),
  diff: operation(
    'shows changes as a patch',
    {
      staged: { type: 'boolean', description: 'true: staged changes.' },
      from: { ...REF, description: 'A commit.' },
      to: { ...REF, description: 'A commit.' },
      paths: PATHS,
      stat: { type: 'boolean', description: 'true: only a summary per file.' },
    },
    (input) => [
      'diff',
      ...SAFE_DIFF,
      ...flag(input, 'staged', '--cached'),
      ...flag(input, 'stat', '--stat'),
      ...refs(input, 'from', 'to'),
      ...paths(input),
    ],
    { ...READ, reachesFiles: () => true, commitsIn: ['from', 'to'] },
  ),
  log: operation(
    'lists commits',
    { limit: LIMIT, ref: REF, paths: PATHS },
    (input) => [
      'log',
      '--no-show-signature',
      '--date=iso-strict',
      '--format=%h %ad %an%d%n    %s',
      `--max-count=${typeof input.limit === 'number' ? input.limit : 20}`,
      ...refs(input, 'ref'),
      ...paths(input),
    ],
    READ,
  ),
  show: operation(
    'shows a commit with its patch, or a file at a commit',
    {
      ref: REF,
      file: { type: 'string', minLength: 1, description: 'Path from the root of the repository.' },
    },
    (input) => [
      'show',
      '--no-show-signature',
      ...SAFE_DIFF,
      `${reference(input, 'ref') ?? 'HEAD'}${typeof input.file === 'string' ? `:${input.file}` : ''}`,
      '--',
    ],
    { ...READ, reachesFiles: ({ file }) => typeof file !== 'string', commitsIn: ['ref'] },
  ),
  init: operation('creates a repository', {}, () => ['init', '--quiet', '--template='], READ),
  add: operation('stages files', { paths: PATHS }, (input) => ['add', ...paths(input)], {
    required: ['paths'],
    reachesFiles: () => true,
    ...READ,
  }),
  unstage: operation(
    'unstages files',
    { paths: PATHS },
    (input) => ['reset', '--quiet', ...paths(input)],
    READ,
  ),
  commit: operation(
    'commits what is staged',
    { message: MESSAGE, all: { type: 'boolean', description: 'true: all changed tracked files.' } },
    (input) => ['commit', '--no-gpg-sign', `--message=${String(input.message)}`],
    { required: ['message'], commits: true },
  ),
  branch: operation('lists branches; with a name, creates one', { name: BRANCH, ref: REF }, (input) => {
    const name = reference(input, 'name');
    return name === undefined
      ? ['branch', '--list', '--all', '-vv']
      : ['branch', '--', name, ...refs(input, 'ref')];
  }),
  checkout: operation(
    'switches to a branch or commit; with paths, restores these files from it',
    { ref: REF, create: { type: 'boolean', description: 'true: creates the branch.' }, paths: PATHS },
    (input) => {
      const ref = reference(input, 'ref');
      if (Array.isArray(input.paths))
        return ['checkout', '--quiet', ...(ref === undefined ? [] : [ref]), ...paths(input)];
      if (ref === undefined) throw refMissing();
      return input.create === true ? ['checkout', '--quiet', '-b', ref] : ['checkout', '--quiet', ref, '--'];
    },
    { reachesFiles: (input) => Array.isArray(input.paths), changes: 'checkout' },
  ),
  merge: operation(
    'merges a branch',
    { ref: REF, message: MESSAGE },
    (input) => [
      'merge',
      '--quiet',
      '--no-gpg-sign',
      '--no-edit',
      ...(typeof input.message === 'string' ? [`-m${input.message}`] : []),
      ...refs(input, 'ref'),
    ],
    { required: ['ref'], commits: true, changes: 'merge' },
  ),
  fetch: operation('fetches from a remote', { remote: REMOTE }, (input) => ['fetch', '--', remoteOf(input)], {
    remote: true,
    ...READ,
  }),
  pull: operation(
    'fetches and fast-forwards',
    { remote: REMOTE, branch: BRANCH },
    (input) => ['pull', '--ff-only', '--', remoteOf(input), ...refs(input, 'branch')],
    { remote: true, changes: 'pull' },
  ),
  push: operation(
    'pushes a branch',
    { remote: REMOTE, branch: BRANCH },
    (input) => ['push', '--set-upstream', '--', remoteOf(input), reference(input, 'branch') ?? 'HEAD'],
    { remote: true },
  ),
};

const refMissing = () =>
  new RuntimeError('bad_parameters', 'The operation "checkout" has neither "ref" nor "paths".', {
    hint: 'Give the branch or commit as "ref".',
  });
