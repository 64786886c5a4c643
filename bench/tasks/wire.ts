/** A request as it came over the wire: OpenAI's chat completions, which every system here speaks. */
export interface ChatRequest {
  readonly stream?: boolean;
  readonly messages: readonly ChatMessage[];
  readonly tools?: readonly { readonly function: OfferedTool }[];
}
export interface OfferedTool {
  readonly name: string;
  readonly description?: string;
  readonly parameters?: {
    readonly properties?: Readonly<Record<string, unknown>>;
    readonly required?: readonly string[];
  };
}
interface ChatMessage {
  readonly role: string;
  readonly content?: string | null | readonly { readonly type: string; readonly text?: string }[];
  readonly tool_calls?: readonly { readonly id: string }[];
  readonly tool_call_id?: string;
}

/** A call in tags without an id of the model's own. */
export interface UnnamedCall {
  readonly id: string;
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** What a model can see of its work so far. */
export interface Conversation {
  /** The first thing that the user said. */
  readonly opening: string;
  /** Calls that were made before. */
  readonly made: ReadonlySet<string>;
  /** Results that are there, as text. */
  readonly results: ReadonlyMap<string, string>;
  /** Calls in tags that were given no id, in order. The runtime calls them a1, a2 and so on. */
  readonly unnamed: readonly UnnamedCall[];
  /** Whether calls are written as tags, since no tools are offered. */
  readonly inTags: boolean;
  readonly tools: readonly OfferedTool[];
}

/** The id of a native call that makes the task's call `id`. */
export const nativeId = (id: string): string => `call_${id}`;

export function readConversation({ messages, tools = [] }: ChatRequest): Conversation {
  const made = new Set<string>();
  const results = new Map<string, string>();
  const unnamed: UnnamedCall[] = [];
  let opening: string | undefined;
  for (const message of messages) {
    const text = textOf(message);
    if (message.role === 'user') opening ??= text;
    if (message.role === 'assistant') {
      for (const { id } of message.tool_calls ?? []) made.add(id.replace(/^call_/, ''));
      for (const [, attributes = '', body = ''] of text.matchAll(/<action([^>]*)>([\s\S]*?)<\/action>/g)) {
        const id = attribute(attributes, 'id');
        if (id !== undefined) made.add(id);
        else
          unnamed.push({
            id: `a${unnamed.length + 1}`,
            tool: attribute(attributes, 'name') ?? '',
            input: (parsed(body) ?? {}) as UnnamedCall['input'],
          });
      }
    } else if (message.role !== 'system' && message.role !== 'developer') {
      const blocks = [...text.matchAll(/<result id="([^"]+)"([^>]*)>([\s\S]*?)<\/result>/g)];
      const call = message.role === 'tool' ? (message.tool_call_id ?? '').replace(/^call_/, '') : undefined;
      for (const [, id = '', attributes = '', body = ''] of blocks)
        if (/status="(ok|error)"/.test(attributes)) results.set(call ?? id, body.trim());
      if (call !== undefined && blocks.length === 0) results.set(call, text);
    }
  }
  return {
    opening: opening ?? '',
    made,
    results,
    unnamed,
    inTags: tools.length === 0,
    tools: tools.map((tool) => tool.function),
  };
}

const attribute = (text: string, name: string): string | undefined =>
  new RegExp(`\\b${name}="([^"]*)"`).exec(text)?.[1];

function textOf({ content }: ChatMessage): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map(({ text = '' }) => text).join('');
}

/**
 * The value at a path of a result. Systems show objects as JSON, and texts as they are; Telltale shows texts of several
 * lines below the other fields, each behind its name.
 */
export function valueAt(result: string, path: string): unknown {
  let value: unknown = parsed(result);
  if (value === undefined) {
    const [, head = '', name = '', text = ''] = /^(?:(\{.*\})\n)?(\w+):\n([\s\S]*)$/.exec(result) ?? [];
    value = name === '' ? result : { ...(parsed(head) as object | undefined), [name]: text };
  }
  for (const key of path === '' ? [] : path.split('.'))
    value = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined;
  return value;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
