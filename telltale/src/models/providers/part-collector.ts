import type { JsonObject } from '../../kernel/json.ts';
import type { GivenPart } from '../../kernel/provider-part.ts';
import { isMap } from '../../manifest/schema/is-map.ts';
import type { StreamPart } from './language-model.ts';

/** A text or a run of reasoning that has begun. */
interface Block {
  text: string;
  meta: JsonObject | undefined;
}

type BlockPart = Extract<
  StreamPart,
  { readonly id: string; readonly type: `${'text' | 'reasoning'}-${string}` }
>;

/**
 * Puts together what a provider wants back: reasoning with its signature, and what belongs to a text. Signatures come
 * with the beginning, with a piece, or with the end. With `keepsPlain`, reasoning without any is kept as well.
 */
export class PartCollector {
  private readonly blocks = new Map<string, Block>();
  private readonly keepsPlain: boolean;
  private readonly keep: (part: GivenPart) => void;

  constructor(keepsPlain: boolean, keep: (part: GivenPart) => void) {
    this.keepsPlain = keepsPlain;
    this.keep = keep;
  }

  read(part: BlockPart): void {
    const isReasoning = part.type.startsWith('reasoning');
    const key = `${isReasoning ? 'r' : 't'}${part.id}`;
    const block = this.blocks.get(key) ?? { text: '', meta: undefined };
    block.meta = merged(block.meta, part.providerMetadata);
    if (isReasoning && 'delta' in part) block.text += part.delta;
    if (!part.type.endsWith('-end')) {
      this.blocks.set(key, block);
      return;
    }
    this.blocks.delete(key);
    const { text, meta } = block;
    const given = meta === undefined || !saysAnything(meta) ? undefined : meta;
    if (isReasoning && (given !== undefined || (this.keepsPlain && text !== '')))
      this.keep({
        type: 'reasoning',
        ...(text === '' ? {} : { text }),
        ...(given === undefined ? {} : { meta: given }),
      });
    else if (given !== undefined) this.keep({ type: 'text', meta: given });
  }
}

/** What comes later adds to what came before. */
function merged(before: JsonObject | undefined, given: JsonObject | undefined): JsonObject | undefined {
  if (given === undefined || before === undefined) return given ?? before;
  return Object.fromEntries(
    [...new Set([...Object.keys(before), ...Object.keys(given)])].map((name) => {
      const [one, other] = [before[name], given[name]];
      return [name, isMap(one) && isMap(other) ? { ...one, ...other } : (other ?? one ?? null)];
    }),
  ) as JsonObject;
}

const saysAnything = (meta: JsonObject): boolean =>
  Object.values(meta).some((each) => isMap(each) && Object.values(each).some((value) => value != null));
