import type { Clock } from '../lib/clock.ts';
import { RuntimeError } from '../lib/errors.ts';
import { nearest } from '../lib/nearest.ts';
import { clip } from '../manifest/schema/show-value.ts';
import type { OwnAddresses } from './access/addresses.ts';
import type { Permissions } from './access/permissions.ts';
import type { Resolver } from './http/checked-lookup.ts';
import type { McpServers } from './mcp/mcp-server.ts';
import type { ProcessEnvironment } from './process/child-environment.ts';
import type { Confinement } from './process/confinement.ts';
import type { Sandbox } from './sandbox/sandbox.ts';
import type { Target, TargetKind } from './target.ts';

/** What the targets of one agent depend on. */
export interface TargetDeps {
  /** The agent's folder, absolute. */
  readonly folder: string;
  readonly agentName: string;
  readonly clock: Clock;
  readonly env: ProcessEnvironment;
  readonly permissions: Permissions;
  /** The time between SIGTERM and SIGKILL. */
  readonly graceMs: number;
  readonly resolveHost: Resolver;
  /** The addresses of Telltale's own servers, which no action may reach. */
  readonly own: OwnAddresses;
  /** Confines commands to what they may use. */
  readonly confinement: Confinement;
  /** Registers something to close together with the table. */
  readonly atClose: (close: () => Promise<void>) => void;
  readonly sandbox: Sandbox;
  /** The agent's running MCP servers. */
  readonly servers: McpServers;
}

const MAX_LISTED = 20;

type KnownTargets = readonly Pick<Target, 'kind' | 'name'>[];

/**
 * The error for an unknown target: it has another kind, is misspelled, or does not exist. `listed` are the names that
 * the hint lists, if not all.
 */
export function unknownTarget(
  kind: TargetKind,
  name: string,
  { all, listed }: { readonly all: KnownTargets; readonly listed?: readonly string[] },
): RuntimeError {
  const elsewhere = all.find((target) => target.name === name && target.kind !== kind);
  const known = all.flatMap((target) => (target.kind === kind ? [target.name] : []));
  return new RuntimeError('target_unknown', `There is no ${KIND_LABELS[kind]} "${clip(name)}".`, {
    hint:
      elsewhere === undefined
        ? hintFor(name, known, all, listed)
        : `It is ${article(elsewhere.kind)}: write type="${elsewhere.kind}".`,
  });
}

function hintFor(name: string, known: readonly string[], all: KnownTargets, listed = known): string {
  const near = nearest(name, known);
  if (near !== undefined) return `Did you mean "${near}"?`;
  const other = nearest(
    name,
    all.map((target) => target.name),
  );
  const target = all.find((each) => each.name === other);
  if (target !== undefined)
    return `Did you mean the ${KIND_LABELS[target.kind]} "${target.name}" (type="${target.kind}")?`;
  if (listed.length === 0) return 'There are none of this kind.';
  const more = listed.length > MAX_LISTED ? `, … (${listed.length} in all)` : '';
  return `There are: ${listed.slice(0, MAX_LISTED).join(', ')}${more}.`;
}

export const KIND_LABELS: Readonly<Record<TargetKind, string>> = {
  tool: 'tool',
  agent: 'agent',
  relic: 'relic',
  workflow: 'workflow',
  llm: 'prompt',
  artifact: 'artifact',
  internal: 'internal action',
};

const article = (kind: TargetKind) => `${/^[aei]/.test(KIND_LABELS[kind]) ? 'an' : 'a'} ${KIND_LABELS[kind]}`;
