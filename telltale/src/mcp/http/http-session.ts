import type { McpHttpStart, McpSend } from '../../targets/mcp/mcp-server.ts';
import { readMessage } from '../server-channel.ts';
import { badStatus, cannotReach, sessionLost } from './http-errors.ts';
import { readWhole } from './read-whole.ts';

export type Answer = Awaited<ReturnType<McpSend>>;

export interface Asking {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
  readonly isBackground?: boolean;
}

/** What every request to a server has in common: whose it is, and what a refusal means. */
export interface HttpSession {
  /** Undefined before the server has given one, where it gives none, and once it is lost. */
  id: string | undefined;
  /** The version of the protocol that was agreed on. */
  version: string | undefined;
  /** Resolves with a response that is none of a failure; rejects as the status says, or with `mcp_session_lost`. */
  ask(asking: Asking): Promise<Answer>;
}

const MAX_SHOWN_BODY = 4_096;

/** `hide` takes out of a text what must not be shown. */
export function createHttpSession(start: McpHttpStart, hide: (text: string) => string): HttpSession {
  const { name, send } = start;
  const what = `The MCP server "${name}"`;
  const own = Object.fromEntries(
    Object.entries(start.headers).map(([key, value]) => [key.toLowerCase(), value]),
  );
  const session: HttpSession = {
    id: undefined,
    version: undefined,
    async ask({ headers, ...asking }) {
      const { id, version } = session;
      const all = {
        ...own,
        ...(id === undefined ? {} : { 'mcp-session-id': id }),
        ...(version === undefined ? {} : { 'mcp-protocol-version': version }),
        ...headers,
      };
      const answer = await send({ what, headers: all, ...asking }).catch((thrown: unknown) => {
        throw cannotReach(name, thrown);
      });
      if (answer.status < 300) return answer;
      const said = hide(await readSaid(answer));
      // Many servers say 400 of a session that they do not know, as the SDK's examples do.
      const isLost = answer.status === 404 || (answer.status === 400 && /session/i.test(said));
      if (id === undefined || !isLost) throw badStatus(name, answer.status, said);
      if (session.id === id) session.id = undefined;
      throw sessionLost(name);
    },
  };
  return session;
}

/** Of an error; nothing where it cannot be read. JSON-RPC's is the message in it. */
async function readSaid(answer: Answer): Promise<string> {
  const text = await readWhole(answer, MAX_SHOWN_BODY, undefined).catch(() => '');
  const { error } = (readMessage(text) ?? {}) as { readonly error?: { readonly message?: unknown } };
  return String(typeof error?.message === 'string' ? error.message : text).trim();
}
