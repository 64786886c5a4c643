import type { ToolCallPart } from './language-model.ts';

/** What all providers take as the name of a tool. */
const NAME = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/;
const MAX_NAME = 64;
/** OpenAI's chat completions refuse longer ids; Anthropic other characters. */
const MAX_ID = 40;
/** LiteLLM puts the signature of a Gemini call behind its id, and looks for it there. */
const HOLDS_SIGNATURE = /__thought__/;
const STRANGE = /[^a-zA-Z0-9_-]/g;

/**
 * Makes the calls of a conversation such as providers accept: models make up names (`functions.shell`, `my tool!`), and
 * use an id again in a later turn. Called for each call in the order of the conversation; what it gives depends on the
 * calls before alone, so the beginning of a prompt stays as it is when the prompt grows.
 */
export class CallCleaner {
  private readonly ids = new Set<string>();
  private readonly keepsSignatures: boolean;

  /** `keepsSignatures`: ids that hold one stay as they are. */
  constructor(keepsSignatures: boolean) {
    this.keepsSignatures = keepsSignatures;
  }

  clean(call: ToolCallPart): ToolCallPart {
    const toolName = cleanName(call.toolName);
    const { toolCallId: given } = call;
    const isKept = this.keepsSignatures && HOLDS_SIGNATURE.test(given);
    const toolCallId = this.ownId(isKept ? given : shortId(given.replaceAll(STRANGE, '_')));
    const isClean = toolName === call.toolName && toolCallId === call.toolCallId;
    return isClean ? call : { ...call, toolName, toolCallId };
  }

  private ownId(id: string): string {
    let own = id;
    for (let n = 2; this.ids.has(own); n++) own = numbered(id, n);
    this.ids.add(own);
    return own;
  }
}

function cleanName(name: string): string {
  if (NAME.test(name)) return name;
  const plain = name.replaceAll(STRANGE, '_').slice(0, MAX_NAME);
  return /^[a-zA-Z_]/.test(plain) ? plain : `_${plain}`.slice(0, MAX_NAME);
}

const numbered = (id: string, n: number): string => {
  const end = `_${n}`;
  return id.length + end.length <= MAX_ID ? id + end : `${id.slice(0, MAX_ID - end.length)}${end}`;
};

/** Long ids may differ at their end alone: what is cut off leaves a checksum (FNV-1a). */
function shortId(id: string): string {
  if (id.length <= MAX_ID) return id;
  let hash = 0x811c9dc5;
  for (let at = 0; at < id.length; at++) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193) >>> 0;
  return `${id.slice(0, MAX_ID - 9)}_${hash.toString(16).padStart(8, '0')}`;
}
