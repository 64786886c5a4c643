import type { CallToolResult, Tool } from '@modelcontextprotocol/sdk/types.js';
import type { LoadedAgent } from '../../agent/loaded-agent.ts';
import type { Runtime, Session, SessionResult } from '../../agent/runtime-types.ts';
import { RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';

export interface AgentToolDeps {
  readonly runtime: Pick<Runtime, 'start'>;
  readonly agents: readonly LoadedAgent<unknown>[];
  /** A prefix for the agent's name in the name of its tool. */
  readonly prefix: string;
}

/** Serves each agent as a tool. A call is a session of its own, with its whole log in the store. */
export const agentTools = ({ runtime, agents, prefix }: AgentToolDeps): readonly ServedTool[] =>
  agents.map((agent) => ({
    definition: {
      name: `${prefix}${agent.manifest.name}`,
      title: agent.manifest.name,
      description:
        agent.manifest.description ?? `Runs the agent "${agent.manifest.name}" and returns its result.`,
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

/** Reports progress that helps a waiting person, but never the agent's input or output. */
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

const agentEnded = (agent: string, session: string, status: string, why = 'its log has no reason.') =>
  new RuntimeError('agent_failed', `The agent "${agent}" (${session}) ended as ${status}: ${why}`, {
    hint: `Its log: telltale://sessions/${session}/log`,
  });

/** Reports progress to a waiting person. */
export type Progress = (message: string, level?: 'info' | 'warning') => void;

/** The sender of a call, and a way to report progress. */
export interface AgentToolsToolCall {
  /** The client's own name for itself. It is shown, but never trusted. */
  readonly client: string;
  /** The owner of the client's token, as the server knows it: `token:ci`, `user:ana`. */
  readonly identity: string;
  /** Aborted when the client cancels the call or disconnects. */
  readonly signal: AbortSignal;
  /** Absent if the client does not want progress. */
  readonly progress?: Progress | undefined;
}

/** A tool of the server. Its arguments match its schema. The client's model is told what it rejects with. */
export interface ServedTool {
  readonly definition: Tool;
  /** Renames arguments with names of other systems to ours. Returns an error if they are ambiguous. */
  underOurNames?(args: JsonObject): JsonObject | RuntimeError;
  call(args: JsonObject, call: AgentToolsToolCall): Promise<AgentToolsToolAnswer>;
}

/** The result of a tool call. */
export interface AgentToolsToolAnswer {
  readonly structured: JsonObject;
  /** The text for the model. Without it, the structured result as JSON. */
  readonly text?: string;
  readonly isError?: true;
}

export const toCallResult = ({ structured, text, isError }: AgentToolsToolAnswer): CallToolResult => ({
  content: [{ type: 'text', text: text ?? JSON.stringify(structured) }],
  structuredContent: structured,
  ...(isError === undefined ? {} : { isError }),
});

/** An error that the model can react to is a result of the call, not a protocol error. */
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
