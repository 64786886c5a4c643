import { fileURLToPath } from 'node:url';
import { createAgentShelf } from '../../src/agent/agent-cache.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import type { LoadedAgent } from '../../src/agent/loaded-agent.ts';
import { createSessionParts } from '../../src/agent/open-runtime-works.ts';
import { createTokenizer } from '../../src/agent/tokenizer.ts';
import type { Opening } from '../../src/prompt/opening.ts';
import { createSimulatedClock } from '../../src/testing/index.ts';
import { createMemoryStore } from '../../src/testing/run-agent.ts';
import { scripted } from '../../src/testing/scripted.ts';
import type { OpenMcpServer } from '../../src/tools/mcp/mcp-server.ts';
import type { Target } from '../../src/tools/target.ts';

export const FOLDER = fileURLToPath(new URL('typical-agents', import.meta.url));
/** The seven kinds of agents that prompts are written for, by the names of their files. */
export const TYPICAL = ['coding', 'research', 'support', 'guided', 'orchestrator', 'data', 'watch'] as const;
export const DIALECTS = ['tags', 'tools', 'step'] as const;
export type Dialect = (typeof DIALECTS)[number];

/** An agent in a dialect of the test's choice. */
export async function typicalAgent(name: string, dialect: Dialect): Promise<LoadedAgent> {
  return inDialect(await loadAgent(`${name}.yml`, { cwd: FOLDER }), dialect);
}

export const inDialect = (agent: LoadedAgent, dialect: Dialect): LoadedAgent => ({
  ...agent,
  manifest: { ...agent.manifest, dialect },
});

export interface Callable {
  /** All that the agent can call, as its sessions have it. */
  readonly targets: readonly Pick<Target, 'kind' | 'name' | 'description' | 'parameters' | 'check'>[];
  readonly opening: Opening;
}

/** A server that offers nothing. */
const silentServer: OpenMcpServer = async ({ name }) => ({
  name,
  tools: [],
  call: () => Promise.reject(new Error('there is nothing to call')),
  close: async () => undefined,
});

/** What sessions of an agent call and are shown. */
export async function prepared(
  agent: LoadedAgent,
  led = agent.manifest.workflow !== null,
): Promise<Callable> {
  const clock = createSimulatedClock();
  const deps = {
    store: createMemoryStore(),
    clock,
    env: {},
    mcp: silentServer,
    tokenizer: createTokenizer(),
  };
  const shelf = createAgentShelf(deps, createSessionParts());
  try {
    const made = await shelf.prepare(agent, scripted(['Hi.']));
    const face = made.face(led);
    const internal = face.internal.map((action) => ({ ...action, kind: 'internal' as const }));
    const opening = face.opening({});
    shelf.release(made);
    return { targets: [...made.targets.all, ...internal], opening };
  } finally {
    await shelf.close();
  }
}

/** What a model pays for a tool that is given to it natively. */
export const nativeText = ({
  name,
  description,
  parameters,
}: Pick<Target, 'name' | 'description' | 'parameters'>): string =>
  JSON.stringify({ name, description, parameters });
