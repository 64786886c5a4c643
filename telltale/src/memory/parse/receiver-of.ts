import type { Node } from 'web-tree-sitter';
import { MAX_RECEIVER } from './limits.ts';

const NAMES = /^[\w$#]+(?:(?:\.|::)[\w$#]+)*$/;

/** What a call is on, where that is written in names: `session`, `this.store`, `crate::kernel`. */
export function receiverOf(text: string, object: Node): string | undefined {
  if (object.endIndex - object.startIndex > MAX_RECEIVER) return undefined;
  const written = text.slice(object.startIndex, object.endIndex).replace(/[!?\s]/g, '');
  return NAMES.test(written) ? written : undefined;
}
