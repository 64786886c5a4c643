import type { JsonObject } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import type { Approve } from '../target.ts';
import { createPermittedHosts, type PermittedHosts } from './permitted-hosts.ts';
import { createPermittedPaths, type PermittedPaths } from './permitted-paths.ts';
import { orStopped } from './stopped.ts';

/** One call, as a person is asked about it. */
export interface Question {
  /** `tool "deploy"`. */
  readonly target: string;
  /** What it would do, in a few words. */
  readonly what: string;
  readonly input: JsonObject;
  readonly signal: AbortSignal;
}

/** What the agent's manifest lets its actions touch. Everything here rejects with `not_permitted` and its remedy. */
export interface Permissions {
  readonly paths: PermittedPaths;
  readonly hosts: PermittedHosts;
  /** Names of environment variables that are in view. */
  readonly environment: readonly string[];
  /** For the tool `shell`: by `permissions.shell`. */
  shell(question: Question): Promise<void>;
  /** Asks a person. `because` is the key of the manifest that demands it. */
  ask(question: Question, because: string): Promise<void>;
}

export function createPermissions(
  { paths, network, shell, environment }: AgentManifest['permissions'],
  folder: string,
  approve: Approve | undefined,
): Permissions {
  const ask = async (question: Question, because: string) => {
    if (approve === undefined) throw nobodyToAsk(question.target, because);
    // In a chain, so that an `approve` that throws at once is a refusal like one that rejects.
    const asked = Promise.resolve(question)
      .then(approve)
      .catch((thrown: unknown) => {
        throw askFailed(question.target, thrown);
      });
    const answer = await orStopped(asked, question.target, question.signal);
    if (answer !== true) throw refused(question.target, because);
  };
  return {
    paths: createPermittedPaths(folder, paths),
    hosts: createPermittedHosts(network),
    environment,
    ask,
    async shell(question) {
      switch (shell) {
        case 'allow':
          return;
        case 'ask':
          return ask(question, 'permissions: { shell: ask }');
        case 'deny':
          throw shellDenied();
      }
    },
  };
}

const nobodyToAsk = (target: string, because: string) =>
  new RuntimeError(
    'not_permitted',
    `A person has to approve the call of ${target}, and there is nobody to ask.`,
    {
      hint: `${remedy(because)} Or run it where somebody can answer.`,
    },
  );

const refused = (target: string, because: string) =>
  new RuntimeError('not_permitted', `A person refused the call of ${target}.`, {
    hint: `Do without it, or ask for something else. It is asked because of "${because}".`,
  });

const askFailed = (target: string, cause: unknown) =>
  new RuntimeError('not_permitted', `Nobody could be asked to approve the call of ${target}.`, {
    hint: 'The cause says why; without an answer it is not called.',
    cause,
  });

const shellDenied = () =>
  new RuntimeError('not_permitted', 'Shell commands are denied to this agent.', {
    hint: 'The agent\'s manifest says "permissions: { shell: deny }"; "ask" or "allow" would permit them.',
  });

const remedy = (because: string): string =>
  because.startsWith('permissions')
    ? 'Write "permissions: { shell: allow }" in the agent\'s manifest.'
    : `It is asked because of "${because}"; "approval: never" would permit it.`;
