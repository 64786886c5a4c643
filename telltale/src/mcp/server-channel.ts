/** What a server said beside its messages: the ends of each. */
export interface ServerWords {
  readonly stderr: string;
  /** What came where messages should, and is none. */
  readonly junk: string;
}

export interface ChannelListener {
  /** An object of JSON; nothing more is known of it. */
  message(message: object): void;
  /** It is gone, or has been given up; `how` in words, undefined if `end` was called. Once. */
  ended(how: string | undefined): void;
}

/** The way to one server and back: a process and its pipes, or a session over HTTP. */
export interface ServerChannel {
  listen(listener: ChannelListener): void;
  /**
   * Rejects where a message cannot be sent; over HTTP also where the answer to it cannot come any more, and then it
   * resolves only behind that answer.
   */
  send(message: object): Promise<void>;
  /** The version that was agreed on. */
  useVersion(version: string): void;
  readonly words: ServerWords;
  /** The process of the runtime stays for it; `letGo`: it may end, and the server with it. */
  hold(): void;
  letGo(): void;
  /** Says good-bye and waits until it is gone; `how` is what those hear who wait for an answer. */
  end(how?: string): Promise<void>;
}

/** Of one message of a server. */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
/** Of what is kept of its words. */
export const KEPT_WORDS = 8 * 1024;
/** Lines or events that are no messages, after which a server is given up. */
export const MAX_JUNK = 10_000;

/** Undefined for what is no object of JSON. */
export function readMessage(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
