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

/** A call in tags without an id of the model's own, be it one that a `<foreach>` makes. */
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
  let withoutId = 0;
  for (const message of messages) {
    const text = textOf(message);
    if (message.role === 'user') opening ??= text;
    if (message.role === 'assistant') {
      for (const { id } of message.tool_calls ?? []) made.add(id.replace(/^call_/, ''));
      for (const written of actionsIn(text)) {
        const id = attribute(written.attributes, 'id') ?? `a${++withoutId}`;
        if (attribute(written.attributes, 'id') !== undefined && written.loop === undefined) made.add(id);
        else unnamed.push(...callsOf(id, written));
      }
    } else if (message.role !== 'system' && message.role !== 'developer') {
      const blocks = [...text.matchAll(/<result id="([^"]+)"([^>]*)>([\s\S]*?)<\/result>/g)];
      const call = message.role === 'tool' ? (message.tool_call_id ?? '').replace(/^call_/, '') : undefined;
      for (const [, id = '', attributes = '', body = ''] of blocks)
        if (!/status="(?!ok|error)/.test(attributes)) results.set(call ?? id, body.trim());
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

/** An `<action>` as the model wrote it, and the `<foreach>` around it. */
interface WrittenAction {
  readonly attributes: string;
  readonly body: string;
  readonly loop: { readonly items: readonly unknown[]; readonly as: string } | undefined;
}

function actionsIn(text: string): readonly WrittenAction[] {
  const found: WrittenAction[] = [];
  let loop: WrittenAction['loop'];
  const tags = /<foreach in='([^']*)' as="(\w+)">|<\/foreach>|<action([^>]*)>([\s\S]*?)<\/action>/g;
  for (const [, list, as = '', attributes, body = ''] of text.matchAll(tags)) {
    if (attributes !== undefined) found.push({ attributes, body, loop });
    else loop = list === undefined ? undefined : { items: parsed(unescaped(list)) as unknown[], as };
  }
  return found;
}

const unescaped = (text: string): string => text.replaceAll('&apos;', "'").replaceAll('&amp;', '&');

/** What an action without an id of its own does; in a `<foreach>` one call for each item. */
function callsOf(id: string, { attributes, body, loop }: WrittenAction): readonly UnnamedCall[] {
  const tool = attribute(attributes, 'name') ?? '';
  const input = (parsed(body) ?? {}) as UnnamedCall['input'];
  if (loop === undefined) return [{ id, tool, input }];
  return loop.items.map((item, index) => ({
    id: `${id}[${index}]`,
    tool,
    input: Object.fromEntries(
      Object.entries(input).map(([key, value]) => [key, value === `$${loop.as}` ? item : value]),
    ),
  }));
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
