import { dirname, join, resolve } from 'node:path';
import { RuntimeError } from '../../../lib/errors.ts';
import type { JsonObject } from '../../../lib/json.ts';
import { MANIFEST_FILE } from '../../../manifest/files.ts';
import type { TargetDeps } from '../../target-edges.ts';
import { flag, paths, reference, remoteOf } from './git-operations.ts';
import { type GitCall, gitText, runGit } from './run-git.ts';

/** Where git works, and for whom. */
interface Repository {
  readonly call: GitCall;
  readonly deps: TargetDeps;
  /** Where it runs, links resolved. */
  readonly cwd: string;
  /** The top of the repository, links resolved. */
  readonly top: string;
  /** Pathspecs of files that the agent may not use. */
  readonly leftOut: readonly string[];
  /** Who commits, where git has not been told. */
  readonly env: Readonly<Record<string, string>>;
  /** Whether a pull speaks to another machine. */
  readonly remote: boolean;
}

/** The tree of a repository without a commit. */
const EMPTY_TREE = '4b825dc642cb6eb9a060e54bf8d69288fbee4904';
const LINK = '120000';
const MAX_LISTED = 20;

/**
 * Git operations that change files of the work tree. Each first finds out which files it would change, and refuses to
 * put manifests, modules or settings in place. What was checked is what is done: commits and trees are named by their
 * ids, so that a branch that moves in between changes nothing.
 */
export class CheckedChanges {
  readonly #at: Repository;

  constructor(repository: Repository) {
    this.#at = repository;
  }

  async checkout(input: JsonObject): Promise<string> {
    const ref = reference(input, 'ref');
    if (Array.isArray(input.paths)) return this.#restore(input, ref);
    if (ref === undefined || input.create === true)
      return this.#git(['checkout', '--quiet', ...flag(input, 'create', '-b'), ref ?? '']);
    const branch = await this.#branchOf(ref);
    const commit = await this.#commit(branch?.remote ?? branch?.local ?? ref);
    // Git itself would take more than one commit's name here, `one...other` for one.
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
    // Where git cannot say what a merge comes to, renames must not move a file to a place that was not checked.
    const isKnown = (await this.#merged(commit)) !== undefined;
    const careful = isKnown ? [] : ['-c', 'merge.renames=false', '-c', 'merge.directoryRenames=false'];
    return this.#git([...careful, ...args], true);
  }

  async pull(input: JsonObject): Promise<string> {
    const branch = reference(input, 'branch');
    const remote = remoteOf(input);
    const { call, deps, cwd, remote: isRemote } = this.#at;
    const wanted = branch === undefined ? [] : [branch];
    await gitText(['fetch', '--quiet', '--', remote, ...wanted], cwd, call, deps, { remote: isRemote });
    const commit = await this.#fetched(remote, branch);
    await this.#check(await this.#changed(commit), commit);
    return this.#git(['merge', '--ff-only', commit], true);
  }

  async #restore(input: JsonObject, ref: string | undefined): Promise<string> {
    // Of the index the tree that it stands for: another action could stage something in between.
    const tree = ref === undefined ? await this.#try(['write-tree']) : await this.#id(`${ref}^{tree}`);
    const specs = [...paths(input), ...this.#at.leftOut];
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
    const merged = await this.#merged(commit);
    if (merged !== undefined) return this.#check(await this.#changed(merged), merged);
    const base = await this.#try(['merge-base', 'HEAD', commit]);
    await this.#check(await this.#changed(commit, base ?? EMPTY_TREE), commit);
  }

  /** The tree that a merge comes to, conflicts included; undefined where this git cannot say it. */
  async #merged(commit: string): Promise<string | undefined> {
    const { call, deps, cwd } = this.#at;
    const ended = await runGit(['merge-tree', '--write-tree', 'HEAD', commit], cwd, call, deps);
    const tree = ended.stdout.text().split('\n')[0]?.trim() ?? '';
    return (ended.exitCode === 0 || ended.exitCode === 1) && /^[0-9a-f]{40,64}$/.test(tree)
      ? tree
      : undefined;
  }

  /** Files, from the top, that differ between a commit or tree and HEAD. */
  async #changed(to: string, from?: string): Promise<readonly string[]> {
    const start = from ?? (await this.#commit('HEAD')) ?? EMPTY_TREE;
    return this.#list(['diff-tree', '-r', '--no-renames', '--name-only', '--no-relative', '-z', start, to]);
  }

  /** Refuses with the list of files that may not be changed. */
  async #check(names: readonly string[], tree: string): Promise<void> {
    const { closed } = this.#at.deps.permissions;
    const refused: string[] = [];
    const entries = await this.#entries(names, tree);
    for (const name of names) {
      const entry = entries.get(name);
      const real = join(this.#at.top, name);
      const reason =
        entry?.mode === LINK
          ? await closed.reasonAgainstLink(real, resolve(dirname(real), await this.#content(entry.id)))
          : await closed.reasonAgainst(real, await this.#suspectContent(name, entry));
      if (reason !== undefined) refused.push(`"${name}" (${reason})`);
    }
    if (refused.length > 0) throw closedChanges(refused);
    const encoded = names.filter((name) => MANIFEST_FILE.test(name));
    if (encoded.length > 0 && (await this.#changesEncodings(tree))) throw closedChanges(encoded);
  }

  /** Only YAML and JSON is judged by its content. */
  async #suspectContent(name: string, entry: CheckedChangesEntry | undefined): Promise<string | undefined> {
    return entry !== undefined && MANIFEST_FILE.test(name) ? this.#content(entry.id) : undefined;
  }

  /** An attribute can have git write other bytes than those that were judged. */
  async #changesEncodings(tree: string): Promise<boolean> {
    const args = ['grep', '--quiet', '--text', 'working-tree-encoding'];
    const specs = ['--', ':(top,glob)**/.gitattributes'];
    const { call, deps, cwd } = this.#at;
    for (const place of [[tree], ['--no-index']] as const) {
      const ended = await runGit([...args, ...place, ...specs], cwd, call, deps);
      if (ended.exitCode === 0) return true;
    }
    return false;
  }

  async #entries(names: readonly string[], tree: string): Promise<ReadonlyMap<string, CheckedChangesEntry>> {
    const wanted = new Set(names);
    const entries = new Map<string, CheckedChangesEntry>();
    if (wanted.size === 0) return entries;
    for (const line of await this.#list(['ls-tree', '-r', '--full-tree', '-z', tree])) {
      const [head = '', name = ''] = [line.slice(0, line.indexOf('\t')), line.slice(line.indexOf('\t') + 1)];
      const [mode = '', , id = ''] = head.split(' ');
      if (wanted.has(name)) entries.set(name, { mode, id });
    }
    return entries;
  }

  async #content(id: string): Promise<string> {
    const { call, deps, cwd } = this.#at;
    const ended = await runGit(['cat-file', 'blob', id], cwd, call, deps, { whole: true });
    return ended.stdout.text();
  }

  /** A branch of that name, or the only remote branch that git would make one from. */
  async #branchOf(ref: string): Promise<CheckedChangesBranch | undefined> {
    const local = `refs/heads/${ref}`;
    if ((await this.#try(['show-ref', '--verify', '--hash', '--', local])) !== undefined) return { local };
    if ((await this.#commit(ref)) !== undefined) return undefined;
    const all = await this.#list(['for-each-ref', '--format=%(refname)%00', 'refs/remotes/']);
    const found = all.map((name) => name.trim()).filter((name) => name.split('/').slice(3).join('/') === ref);
    const [remote] = found;
    return found.length === 1 && remote !== undefined ? { local, remote } : undefined;
  }

  /** What was fetched to be merged, as `git pull` chooses it. */
  async #fetched(remote: string, branch: string | undefined): Promise<string> {
    const found = branch === undefined ? await this.#upstream(remote) : await this.#commit('FETCH_HEAD');
    if (found !== undefined) return found;
    throw new RuntimeError('command_failed', `The current branch follows no branch of "${remote}".`, {
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

  /** What git prints; undefined where it fails or prints nothing. */
  async #try(args: readonly string[]): Promise<string | undefined> {
    const { call, deps, cwd } = this.#at;
    const ended = await runGit(args, cwd, call, deps);
    return ended.exitCode === 0 ? ended.stdout.text().trim() || undefined : undefined;
  }

  async #list(args: readonly string[]): Promise<readonly string[]> {
    const { call, deps, cwd } = this.#at;
    const text = await gitText(args, cwd, call, deps, { whole: true });
    return text.split('\0').filter((name) => name !== '');
  }

  #git(args: readonly string[], checked = false): Promise<string> {
    const { call, deps, cwd, env } = this.#at;
    return gitText(args, cwd, call, deps, { env, checked });
  }
}

interface CheckedChangesEntry {
  readonly mode: string;
  readonly id: string;
}

interface CheckedChangesBranch {
  readonly local: string;
  readonly remote?: string;
}

const unknownRef = (ref: string) =>
  new RuntimeError(
    'command_failed',
    `"${ref.slice(0, 100)}" is no branch, tag or commit of this repository.`,
    {
      hint: 'The operation "branch" lists the branches, and "log" the commits.',
    },
  );

const unmerged = () =>
  new RuntimeError('command_failed', 'Files cannot be restored from the index while a merge has conflicts.', {
    hint: 'Give the commit to restore them from as "ref".',
  });

function closedChanges(refused: readonly string[]): RuntimeError {
  const more = refused.length > MAX_LISTED ? `, and ${refused.length - MAX_LISTED} more` : '';
  return new RuntimeError(
    'not_permitted',
    `This would change files that are closed to agents: ${refused.slice(0, MAX_LISTED).join(', ')}${more}. Nothing was changed.`,
    {
      hint: 'A person has to make this change: git checkout, git merge or git pull in a terminal. With "paths", checkout restores other files alone.',
    },
  );
}
