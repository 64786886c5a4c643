import { RuntimeError } from '../kernel/runtime-error.ts';
import type { McpServers } from './mcp/mcp-server.ts';
import type { ListedTargets } from './mcp/server-targets.ts';
import type { Target, TargetKind } from './target.ts';

/** Targets by kind and name. */
export interface NamedTargets {
  readonly all: readonly Target[];
  get(key: string): Target | undefined;
}

/** What an agent can call, which changes where a server lists something else. */
export interface LiveTables {
  /** The targets of this moment. Throws where two of them have one name, or one cannot be made. */
  latest(): NamedTargets;
  /** Finds what can be called now; else what `targets` had, whose server says that it is gone. */
  finder(targets: NamedTargets): (kind: TargetKind, name: string) => Target | undefined;
}

export function createLiveTables(
  parts: readonly (Target | ListedTargets)[],
  servers: McpServers,
): LiveTables {
  let current = namedTargets(parts);
  let isStale = false;
  for (const server of servers.values())
    server.onChange?.(() => {
      isStale = true;
    });
  const latest = (): NamedTargets => {
    if (isStale) {
      current = namedTargets(parts);
      isStale = false;
    }
    return current;
  };
  return {
    latest,
    finder(targets) {
      if (servers.size === 0) return (kind, name) => targets.get(keyOf(kind, name));
      return (kind, name) => {
        const key = keyOf(kind, name);
        return latestOr(targets, latest).get(key) ?? targets.get(key);
      };
    },
  };
}

/** A session that runs goes on with what it has; the next one that begins hears what is wrong. */
function latestOr(targets: NamedTargets, latest: () => NamedTargets): NamedTargets {
  try {
    return latest();
  } catch {
    return targets;
  }
}

function namedTargets(parts: readonly (Target | ListedTargets)[]): NamedTargets {
  const table = new Map<string, Target>();
  for (const part of parts)
    for (const target of 'targets' in part ? part.targets() : [part]) {
      const key = keyOf(target.kind, target.name);
      if (table.has(key)) throw nameTaken(target);
      table.set(key, target);
    }
  return { all: Object.freeze([...table.values()]), get: (key) => table.get(key) };
}

const keyOf = (kind: TargetKind, name: string): string => `${kind} ${name}`;

const nameTaken = ({ kind, name }: Target) =>
  new RuntimeError('name_taken', `Two things that actions can call are named ${kind} "${name}".`, {
    hint: 'Give one of them another name; a built-in tool has its own, and those of an MCP server begin with its name.',
  });
