import type { JsonObject } from '../../../kernel/json.ts';
import { RuntimeError } from '../../../kernel/runtime-error.ts';
import type { Operation } from '../../operations.ts';
import { flag, paths, reference, refs, remoteOf } from './git-arguments.ts';

/** One operation as arguments of git. Every reference and path that a call gives is checked, and stands behind `--`. */
export interface GitOperation extends Omit<Operation, 'run'> {
  args(input: JsonObject): readonly string[];
  /** Whether it speaks to another machine. */
  readonly remote?: true;
  readonly commits?: true;
  /** Whether it changes files of the work tree: which ones is checked first. */
  readonly changes?: 'checkout' | 'merge' | 'pull';
  /** Parameters that name commits and nothing else: a file is not shown by the id of its content. */
  readonly commitsIn?: readonly string[];
  /** Whether it stages, shows or restores files beyond those that the call names; its arguments end with pathspecs. */
  reachesFiles?(input: JsonObject): boolean;
}

const PATHS = { type: 'array', items: { type: 'string', minLength: 1 }, description: 'Files or folders.' };
const REF = { type: 'string', minLength: 1, description: 'A commit, branch or tag.' };
const LIMIT = { type: 'integer', minimum: 1, maximum: 1000, description: 'How many; 20 if absent.' };
const MESSAGE = { type: 'string', minLength: 1, description: 'The message.' };
const FOLDER = { type: 'string', description: "A folder of the repository, relative to the agent's folder." };
const REMOTE = { type: 'string', minLength: 1, description: 'A remote; origin if absent.' };
const BRANCH = { type: 'string', minLength: 1, description: 'A branch.' };
const SAFE_DIFF = ['--no-ext-diff', '--no-textconv'];

const operation = (
  description: string,
  parameters: Readonly<Record<string, JsonObject>>,
  args: GitOperation['args'],
  more: Partial<GitOperation> = {},
): GitOperation => ({
  description,
  parameters: { path: FOLDER, ...parameters },
  args,
  idempotent: false,
  ...more,
});

const READ = { idempotent: true } as const;

export const GIT_OPERATIONS: Readonly<Record<string, GitOperation>> = {
  status: operation('what has changed', {}, () => ['status', '--short', '--branch'], READ),
  diff: operation(
    'changes as a patch',
    {
      staged: { type: 'boolean', description: 'true: what is staged.' },
      from: { ...REF, description: 'A commit to compare with.' },
      to: { ...REF, description: 'A second commit.' },
      paths: PATHS,
      stat: { type: 'boolean', description: 'true: only which files, and how much.' },
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
    'commits',
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
    'a commit and its patch, or a file as of a commit',
    {
      ref: REF,
      file: { type: 'string', minLength: 1, description: 'A file, from the top of the repository.' },
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
  init: operation('makes a repository', {}, () => ['init', '--quiet', '--template='], READ),
  add: operation('stages files', { paths: PATHS }, (input) => ['add', ...paths(input)], {
    required: ['paths'],
    reachesFiles: () => true,
    ...READ,
  }),
  unstage: operation(
    'takes files out of the stage',
    { paths: PATHS },
    (input) => ['reset', '--quiet', ...paths(input)],
    READ,
  ),
  commit: operation(
    'commits what is staged',
    { message: MESSAGE, all: { type: 'boolean', description: 'true: every tracked file that changed.' } },
    (input) => ['commit', '--quiet', '--no-gpg-sign', `--message=${String(input.message)}`],
    { required: ['message'], commits: true },
  ),
  branch: operation('lists branches, or makes one', { name: BRANCH, ref: REF }, (input) => {
    const name = reference(input, 'name');
    return name === undefined
      ? ['branch', '--list', '--all', '-vv']
      : ['branch', '--', name, ...refs(input, 'ref')];
  }),
  checkout: operation(
    'goes to a branch or commit; with paths, restores files from it',
    { ref: REF, create: { type: 'boolean', description: 'true: makes the branch.' }, paths: PATHS },
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
  fetch: operation(
    'gets what is new from a remote',
    { remote: REMOTE },
    (input) => ['fetch', '--', remoteOf(input)],
    {
      remote: true,
      ...READ,
    },
  ),
  pull: operation(
    'gets what is new and goes forward to it',
    { remote: REMOTE, branch: BRANCH },
    (input) => ['pull', '--ff-only', '--', remoteOf(input), ...refs(input, 'branch')],
    { remote: true, changes: 'pull' },
  ),
  push: operation(
    'sends a branch to a remote',
    { remote: REMOTE, branch: BRANCH },
    (input) => ['push', '--set-upstream', '--', remoteOf(input), reference(input, 'branch') ?? 'HEAD'],
    { remote: true },
  ),
};

const refMissing = () =>
  new RuntimeError('bad_parameters', 'The operation "checkout" has neither "ref" nor "paths".', {
    hint: 'Give the branch or commit as "ref".',
  });
