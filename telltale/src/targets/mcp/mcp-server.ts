import type { Clock } from '../../kernel/clock.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';

/** How an MCP server is reached. */
export type McpServerStart = McpProcessStart | McpHttpStart;

/** Over stdio. */
export interface McpProcessStart {
  readonly type: 'stdio';
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

/** Over streamable HTTP. */
export interface McpHttpStart {
  readonly type: 'http';
  /** The manifest's name for it. */
  readonly name: string;
  readonly url: string;
  /** Of every request. They may be secrets, and so may the path of the address: neither is shown. */
  readonly headers: Readonly<Record<string, string>>;
  /** Sends to `url`, and nowhere else, what the agent's permissions let through. */
  readonly send: McpSend;
  readonly clock: Clock;
}

export type McpSend = (message: {
  readonly what: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal: AbortSignal;
  readonly isBackground?: boolean;
}) => Promise<{
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterable<Uint8Array>;
  discard(): void;
}>;

/** A tool, as its server describes it: nothing in it is to be trusted. */
export interface McpTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  /** Whether it says that a second call changes nothing more. */
  readonly idempotent: boolean;
}

/** A prompt, as its server describes it. */
export interface McpPrompt {
  readonly name: string;
  readonly description: string;
  readonly arguments: readonly McpPromptArgument[];
}

export interface McpPromptArgument {
  readonly name: string;
  readonly description: string;
  readonly required: boolean;
}

/** Whatever is asked of a server. */
export interface McpAsk {
  /** For messages: `tool "github_search"`. */
  readonly what: string;
  readonly signal: AbortSignal;
}

export interface McpCall extends McpAsk {
  /** The server's name for it. */
  readonly tool: string;
  readonly input: JsonObject;
  readonly onProgress?: ((data: Json) => void) | undefined;
}

/** What a tool answered, as it stands in the message: of bounded size, and of any shape. */
export interface McpAnswer {
  readonly isError: boolean;
  readonly structured: JsonObject | undefined;
  readonly content: readonly JsonObject[];
}

export interface McpResourceList {
  readonly resources: readonly JsonObject[];
  readonly templates: readonly JsonObject[];
  /** Whether there are more than were asked for. */
  readonly isCut: boolean;
}

export interface McpResources {
  list(ask: McpAsk): Promise<McpResourceList>;
  /** Each with `uri` and `text` or `blob`, as the server sent it. */
  read(ask: McpAsk & { readonly uri: string }): Promise<readonly JsonObject[]>;
}

export interface McpPromptAnswer {
  readonly description: string;
  /** Each with `role` and `content`, as the server sent it. */
  readonly messages: readonly JsonObject[];
}

export interface McpPrompts {
  /** What the server listed last. */
  readonly all: readonly McpPrompt[];
  get(
    ask: McpAsk & { readonly prompt: string; readonly input: Readonly<Record<string, string>> },
  ): Promise<McpPromptAnswer>;
}

/** A server that runs. One that has ended, or has forgotten us, is begun with anew at the next call. */
export interface McpServer {
  readonly name: string;
  /** What it listed last: the same list as long as nothing has changed. */
  readonly tools: readonly McpTool[];
  /** Where the server has any. */
  readonly resources?: McpResources | undefined;
  readonly prompts?: McpPrompts | undefined;
  /** Calls `listener` whenever tools or prompts are others than before, until the returned function is called. */
  onChange?(listener: () => void): () => void;
  /**
   * Rejects with `mcp_failed` where the server is at fault, with `tool_gone` where it no longer has the tool, or with
   * what the signal was aborted with.
   */
  call(call: McpCall): Promise<McpAnswer>;
  close(): Promise<void>;
}

/** The servers of one agent, by name. */
export type McpServers = ReadonlyMap<string, McpServer>;

/** Starts a server and asks it what it has. Rejects with `mcp_failed`, or as a command that cannot be started. */
export type OpenMcpServer = (start: McpServerStart) => Promise<McpServer>;
