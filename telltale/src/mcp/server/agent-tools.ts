import type { CallToolResult, Tool } from '@modelcontextprotocol/sdk/types.js';
import type { LoadedAgent } from '../../agent/loaded-agent.ts';
import type { Runtime, Session, SessionResult } from '../../agent/runtime-types.ts';
import { RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';

export interface AgentToolDeps {
  readonly runtime: Pick<Runtime, 'start'>;
  readonly agents: readonly LoadedAgent<unknown>[];
  /** Stands before the agent's name in the tool's. */
  readonly prefix: string;
}

/** Each agent as a tool: a call is a session of its own, with its whole log in the store. */
export const agentTools = ({ runtime, agents, prefix }: AgentToolDeps): readonly ServedTool[] =>
  agents.map((agent) => ({
    definition: {
      name: `${prefix}${agent.manifest.name}`,
      title: agent.manifest.name,
      description:
        agent.manifest.description ?? `Runs the agent "${agent.manifest.name}" and gives its result.`,
      inputSchema: {
        type: 'object',
        properties: {
          input: { type: 'string', description: 'What the agent is to do.' },
          vars: { type: 'object', description: 'Values for its variables, by name.' },
        },
        additionalProperties: false,
      },
      annotations: { readOnlyHint: false, openWorldHint: true },
    },
    call: (args, call) => runAgent(runtime, agent, args, call),
  }));

async function runAgent(
  runtime: Pick<Runtime, 'start'>,
  agent: LoadedAgent<unknown>,
  { input = '', vars }: JsonObject,
  { signal, progress }: AgentToolsToolCall,
): Promise<AgentToolsToolAnswer> {
  const session = runtime.start(agent, {
    input: String(input),
    signal,
    onWaiting: 'release',
    ...(vars === undefined ? {} : { vars: vars as JsonObject }),
  });
  const forget = progress === undefined ? undefined : session.subscribe((event) => tell(event, progress));
  try {
    return answerOf(await session.result, agent.manifest.name);
  } finally {
    forget?.();
  }
}

type Observed = Parameters<Parameters<Session['subscribe']>[0]>[0];

/** What a person who waits would like to read; never what the agent says or was given. */
function tell(event: Observed, progress: Progress): void {
  if (event.type === 'turn.started') progress(`turn ${event.turn}`);
  if (event.type === 'action.started') progress(`${event.id} started`);
  if (event.type === 'action.completed') progress(`${event.id} completed`);
  if (event.type === 'action.failed') progress(`${event.id} failed: ${event.error.message}`, 'warning');
}

function answerOf(
  { session, status, result, error, reviews = [], turns, cost_usd }: SessionResult<unknown>,
  agent: string,
): AgentToolsToolAnswer {
  const told = { session, status, turns, cost_usd };
  switch (status) {
    case 'completed': {
      const value = (result ?? null) as Json;
      return {
        structured: { ...told, result: value },
        text: typeof value === 'string' ? value : JSON.stringify(value),
      };
    }
    case 'waiting': {
      const asked = reviews.map(({ review, what }) => ({ review, what }));
      const hint = `A person has to answer: telltale reviews. Then: telltale resume ${session}`;
      return { structured: { ...told, reviews: asked, hint }, text: `The agent "${agent}" waits. ${hint}` };
    }
    case 'failed':
    case 'stalled':
    case 'cancelled':
    case 'interrupted':
      throw agentEnded(agent, session, status, error?.message);
  }
}

const agentEnded = (agent: string, session: string, status: string, why = 'no reason is on its log.') =>
  new RuntimeError('agent_failed', `The agent "${agent}" (${session}) ended as ${status}: ${why}`, {
    hint: `Its log: telltale://sessions/${session}/log`,
  });

/** What goes on, for a person who waits. */
export type Progress = (message: string, level?: 'info' | 'warning') => void;

/** Who calls, and how it hears of what goes on. */
export interface AgentToolsToolCall {
  /** The name that the client gives itself: shown, and never trusted. */
  readonly client: string;
  /** Whose key the client has, as the server knows: `token:ci`, `user:ana`. */
  readonly identity: string;
  /** Aborted when the client cancels the call or goes away. */
  readonly signal: AbortSignal;
  /** Absent where the client does not want to know. */
  readonly progress?: Progress | undefined;
}

/** A tool of the server. Its arguments satisfy its schema; what it rejects with is told to the client's model. */
export interface ServedTool {
  readonly definition: Tool;
  /** The arguments with our names where they have those of another system; an error where it is unclear what is meant. */
  underOurNames?(args: JsonObject): JsonObject | RuntimeError;
  call(args: JsonObject, call: AgentToolsToolCall): Promise<AgentToolsToolAnswer>;
}

/** What a call of a tool comes to. */
export interface AgentToolsToolAnswer {
  readonly structured: JsonObject;
  /** What a model reads; the structured answer as JSON where it is absent. */
  readonly text?: string;
  readonly isError?: true;
}

export const toCallResult = ({ structured, text, isError }: AgentToolsToolAnswer): CallToolResult => ({
  content: [{ type: 'text', text: text ?? JSON.stringify(structured) }],
  structuredContent: structured,
  ...(isError === undefined ? {} : { isError }),
});

/** An error that the model can do something about: the call's result, not the protocol's. */
export function failedResult(thrown: unknown): CallToolResult {
  const error = toRuntimeError(thrown);
  return {
    content: [{ type: 'text', text: errorText(error) }],
    structuredContent: { error: error.toJSON() },
    isError: true,
  };
}

const errorText = ({ code, message, hint }: RuntimeError): string =>
  `${code}: ${message}${hint === undefined ? '' : `\n${hint}`}`;
