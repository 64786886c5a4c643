import type { Clock } from '../../kernel/clock.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';

/** How an MCP server over stdio is started. */
export interface McpServerStart {
  /** The manifest's name for it. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Its whole environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly clock: Clock;
  /** Between SIGTERM and SIGKILL. */
  readonly graceMs: number;
}

/** A tool, as its server describes it: nothing in it is to be trusted. */
export interface McpTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  /** Whether it says that a second call changes nothing more. */
  readonly idempotent: boolean;
}

export interface McpCall {
  /** For messages: `tool "github_search"`. */
  readonly what: string;
  /** The server's name for it. */
  readonly tool: string;
  readonly input: JsonObject;
  readonly signal: AbortSignal;
  readonly onProgress?: ((data: Json) => void) | undefined;
}

/** What a tool answered, as it stands in the message: of bounded size, and of any shape. */
export interface McpAnswer {
  readonly isError: boolean;
  readonly structured: JsonObject | undefined;
  readonly content: readonly JsonObject[];
}

/** A server that runs. One that has ended is started again at the next call. */
export interface McpServer {
  readonly name: string;
  /** What it listed when it was opened. */
  readonly tools: readonly McpTool[];
  /** Rejects with `mcp_failed` where the server is at fault, or with what the signal was aborted with. */
  call(call: McpCall): Promise<McpAnswer>;
  close(): Promise<void>;
}

/** The servers of one agent, by name. */
export type McpServers = ReadonlyMap<string, McpServer>;

/** Starts a server and asks it for its tools. Rejects with `mcp_failed`, or as a command that cannot be started. */
export type OpenMcpServer = (start: McpServerStart) => Promise<McpServer>;
