import { dirname, join, resolve } from 'node:path';
import { RuntimeError } from '../../../lib/errors.ts';
import type { JsonObject } from '../../../lib/json.ts';
import { MANIFEST_FILE } from '../../../manifest/files.ts';
import type { TargetDeps } from '../../target-deps.ts';
import { flag, paths, reference, remoteOf } from './git-operations.ts';
import { type GitCall, gitText, runGit } from './run-git.ts';

/** The repository that git works in, and the call it works for. */
interface Repository {
  readonly call: GitCall;
  readonly deps: TargetDeps;
  /** The folder that git runs in, links resolved. */
  readonly cwd: string;
  /** The root folder of the repository, links resolved. */
  readonly top: string;
  /** Exclude pathspecs for files that the agent may not use. */
  readonly excluded: readonly string[];
  /** The author of commits if git has none configured. */
  readonly env: Readonly<Record<string, string>>;
  /** Whether a pull connects to another machine. */
  readonly remote: boolean;
}

/** The tree of a repository without commits. */
const EMPTY_TREE = '4b825dc642cb6eb9a060e54bf8d69288fbee4904';
const LINK = '120000';
const MAX_LISTED = 20;

/**
 * Git operations that change files of the work tree. Each first finds out which files it would change, and refuses to
 * change manifests, modules or settings. Commits and trees are named by their ids, so what was checked is what is done,
 * even if a branch moves in between.
 */
export class CheckedChanges {
  readonly #repository: Repository;

  constructor(repository: Repository) {
    this.#repository = repository;
  }

  async checkout(input: JsonObject): Promise<string> {
    const ref = reference(input, 'ref');
    if (Array.isArray(input.paths)) return this.#restore(input, ref);
    if (ref === undefined || input.create === true)
      return this.#git(['checkout', '--quiet', ...flag(input, 'create', '-b'), ref ?? '']);
    const branch = await this.#branchOf(ref);
    const commit = await this.#commit(branch?.remote ?? branch?.local ?? ref);
    // Git would also accept names of several commits here, such as `one...other`.
    if (commit === undefined) throw unknownRef(ref);
    await this.#check(await this.#changed(commit), commit);
    const said = await this.#git(['checkout', '--quiet', '--detach', commit, '--'], true);
    if (branch === undefined) return said;
    if (branch.remote !== undefined)
      await this.#git(['branch', '--quiet', '--track', '--', ref, branch.remote]);
    await this.#git(['symbolic-ref', '-m', `checkout: moving to ${ref}`, 'HEAD', `refs/heads/${ref}`]);
    return said;
  }

  async merge(input: JsonObject): Promise<string> {
    const ref = reference(input, 'ref') ?? '';
    const commit = await this.#commit(ref);
    if (commit === undefined) throw unknownRef(ref);
    await this.#checkMerge(commit);
    const message = typeof input.message === 'string' ? input.message : `Merge ${await this.#described(ref)}`;
    const args = ['merge', '--quiet', '--no-gpg-sign', '--no-edit', `-m${message}`, commit];
    // If git cannot compute the merge in advance, renames could move a file to an unchecked location, so they are
    // disabled.
    const isKnown = (await this.#mergeTree(commit)) !== undefined;
    const careful = isKnown ? [] : ['-c', 'merge.renames=false', '-c', 'merge.directoryRenames=false'];
    return this.#git([...careful, ...args], true);
  }

  async pull(input: JsonObject): Promise<string> {
    const branch = reference(input, 'branch');
    const remote = remoteOf(input);
    const { call, deps, cwd, remote: isRemote } = this.#repository;
    const wanted = branch === undefined ? [] : [branch];
    await gitText(['fetch', '--quiet', '--', remote, ...wanted], cwd, call, deps, { remote: isRemote });
    const commit = await this.#fetched(remote, branch);
    await this.#check(await this.#changed(commit), commit);
    return this.#git(['merge', '--ff-only', commit], true);
  }

  async #restore(input: JsonObject, ref: string | undefined): Promise<string> {
    // Without a ref, use the tree of the present index: another action could stage something in between.
    const tree = ref === undefined ? await this.#try(['write-tree']) : await this.#id(`${ref}^{tree}`);
    const specs = [...paths(input), ...this.#repository.excluded];
    if (tree === undefined) throw ref === undefined ? unmerged() : unknownRef(ref);
    const named = await this.#list([
      'diff',
      '--name-only',
      '--no-renames',
      '--relative=',
      '-z',
      tree,
      ...specs,
    ]);
    const held = await this.#list(['ls-tree', '-r', '--name-only', '--full-tree', '-z', tree]);
    // Files that are not in the tree stay as they are.
    const inTree = new Set(held);
    await this.#check(
      named.filter((name) => inTree.has(name)),
      tree,
    );
    return this.#git(['checkout', '--quiet', tree, ...specs], true);
  }

  async #checkMerge(commit: string): Promise<void> {
    const merged = await this.#mergeTree(commit);
    if (merged !== undefined) return this.#check(await this.#changed(merged), merged);
    const base = await this.#try(['merge-base', 'HEAD', commit]);
    await this.#check(await this.#changed(commit, base ?? EMPTY_TREE), commit);
  }

  /** The tree that results from a merge, conflicts included. Undefined if this version of git cannot compute it. */
  async #mergeTree(commit: string): Promise<string | undefined> {
    const { call, deps, cwd } = this.#repository;
    const ended = await runGit(['merge-tree', '--write-tree', 'HEAD', commit], cwd, call, deps);
    const tree = ended.stdout.text().split('\n')[0]?.trim() ?? '';
    return (ended.exitCode === 0 || ended.exitCode === 1) && /^[0-9a-f]{40,64}$/.test(tree)
      ? tree
      : undefined;
  }

  /** The files, relative to the root, that differ between HEAD and a commit or tree. */
  async #changed(to: string, from?: string): Promise<readonly string[]> {
    const start = from ?? (await this.#commit('HEAD')) ?? EMPTY_TREE;
    return this.#list(['diff-tree', '-r', '--no-renames', '--name-only', '--no-relative', '-z', start, to]);
  }

  /** Throws with the list of files that must not be changed. */
  async #check(names: readonly string[], tree: string): Promise<void> {
    const { protectedPaths: closed } = this.#repository.deps.permissions;
    const refused: string[] = [];
    const entries = await this.#entries(names, tree);
    for (const name of names) {
      const entry = entries.get(name);
      const real = join(this.#repository.top, name);
      const reason =
        entry?.mode === LINK
          ? await closed.whyNotLinkable(real, resolve(dirname(real), await this.#content(entry.id)))
          : await closed.whyNotWritable(real, await this.#suspectContent(name, entry));
      if (reason !== undefined) refused.push(`"${name}" (${reason})`);
    }
    if (refused.length > 0) throw protectedChanges(refused);
    const encoded = names.filter((name) => MANIFEST_FILE.test(name));
    if (encoded.length > 0 && (await this.#changesEncodings(tree))) throw protectedChanges(encoded);
  }

  /** Only YAML and JSON files are judged by their content. */
  async #suspectContent(name: string, entry: TreeEntry | undefined): Promise<string | undefined> {
    return entry !== undefined && MANIFEST_FILE.test(name) ? this.#content(entry.id) : undefined;
  }

  /** An attribute can make git write other bytes than those that were checked. */
  async #changesEncodings(tree: string): Promise<boolean> {
    const args = ['grep', '--quiet', '--text', 'working-tree-encoding'];
    const specs = ['--', ':(top,glob)**/.gitattributes'];
    const { call, deps, cwd } = this.#repository;
    for (const place of [[tree], ['--no-index']] as const) {
      const ended = await runGit([...args, ...place, ...specs], cwd, call, deps);
      if (ended.exitCode === 0) return true;
    }
    return false;
  }

  async #entries(names: readonly string[], tree: string): Promise<ReadonlyMap<string, TreeEntry>> {
    const wanted = new Set(names);
    const entries = new Map<string, TreeEntry>();
    if (wanted.size === 0) return entries;
    for (const line of await this.#list(['ls-tree', '-r', '--full-tree', '-z', tree])) {
      const [head = '', name = ''] = [line.slice(0, line.indexOf('\t')), line.slice(line.indexOf('\t') + 1)];
      const [mode = '', , id = ''] = head.split(' ');
      if (wanted.has(name)) entries.set(name, { mode, id });
    }
    return entries;
  }

  async #content(id: string): Promise<string> {
    const { call, deps, cwd } = this.#repository;
    const ended = await runGit(['cat-file', 'blob', id], cwd, call, deps, { whole: true });
    return ended.stdout.text();
  }

  /** The local branch of that name, or the only remote branch that git would create it from. */
  async #branchOf(ref: string): Promise<BranchRef | undefined> {
    const local = `refs/heads/${ref}`;
    if ((await this.#try(['show-ref', '--verify', '--hash', '--', local])) !== undefined) return { local };
    if ((await this.#commit(ref)) !== undefined) return undefined;
    const all = await this.#list(['for-each-ref', '--format=%(refname)%00', 'refs/remotes/']);
    const found = all.map((name) => name.trim()).filter((name) => name.split('/').slice(3).join('/') === ref);
    const [remote] = found;
    return found.length === 1 && remote !== undefined ? { local, remote } : undefined;
  }

  /** The fetched commit to merge, chosen as `git pull` does. */
  async #fetched(remote: string, branch: string | undefined): Promise<string> {
    const found = branch === undefined ? await this.#upstream(remote) : await this.#commit('FETCH_HEAD');
    if (found !== undefined) return found;
    throw new RuntimeError('command_failed', `The current branch tracks no branch of "${remote}".`, {
      hint: 'Give the branch to pull as "branch".',
    });
  }

  async #upstream(remote: string): Promise<string | undefined> {
    const name = await this.#try(['rev-parse', '--symbolic-full-name', '@{upstream}']);
    return name?.startsWith(`refs/remotes/${remote}/`) === true ? this.#commit(name) : undefined;
  }

  async #described(ref: string): Promise<string> {
    const name =
      (await this.#try(['rev-parse', '--symbolic-full-name', '--verify', '--end-of-options', ref])) ?? '';
    if (name.startsWith('refs/heads/')) return `branch '${ref}'`;
    return name.startsWith('refs/remotes/') ? `remote-tracking branch '${ref}'` : `commit '${ref}'`;
  }

  #commit(ref: string): Promise<string | undefined> {
    return this.#id(`${ref}^{commit}`);
  }

  #id(name: string): Promise<string | undefined> {
    return this.#try(['rev-parse', '--verify', '--quiet', '--end-of-options', name]);
  }

  /** What git prints. Undefined if it fails or prints nothing. */
  async #try(args: readonly string[]): Promise<string | undefined> {
    const { call, deps, cwd } = this.#repository;
    const ended = await runGit(args, cwd, call, deps);
    return ended.exitCode === 0 ? ended.stdout.text().trim() || undefined : undefined;
  }

  async #list(args: readonly string[]): Promise<readonly string[]> {
    const { call, deps, cwd } = this.#repository;
    const text = await gitText(args, cwd, call, deps, { whole: true });
    return text.split('\0').filter((name) => name !== '');
  }

  #git(args: readonly string[], checked = false): Promise<string> {
    const { call, deps, cwd, env } = this.#repository;
    return gitText(args, cwd, call, deps, { env, checked });
  }
}

interface TreeEntry {
  readonly mode: string;
  readonly id: string;
}

interface BranchRef {
  readonly local: string;
  readonly remote?: string;
}

const unknownRef = (ref: string) =>
  new RuntimeError(
    'command_failed',
    `"${ref.slice(0, 100)}" is not a branch, tag or commit of this repository.`,
    {
      hint: 'List branches with the operation "branch", and commits with "log".',
    },
  );

const unmerged = () =>
  new RuntimeError('command_failed', 'Files cannot be restored from the index while a merge has conflicts.', {
    hint: 'Give a commit to restore them from as "ref".',
  });

function protectedChanges(refused: readonly string[]): RuntimeError {
  const more = refused.length > MAX_LISTED ? `, and ${refused.length - MAX_LISTED} more` : '';
  return new RuntimeError(
    'not_permitted',
    `This would change files that agents cannot write: ${refused.slice(0, MAX_LISTED).join(', ')}${more}. Nothing was changed.`,
    {
      hint: 'A person has to make this change with git checkout, git merge or git pull in a terminal. To restore only other files, use checkout with "paths".',
    },
  );
}
