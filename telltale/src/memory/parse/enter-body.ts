import type { Visit } from './grammar.ts';

/** Bodies of classes and interfaces hold members where their head is known; those of classes without a name are blocks. */
export const visitBody: Visit = (node, reading) => {
  const isOwn = reading.frame.place === 'head' && reading.frame.body === node.startIndex;
  reading.enter(node, isOwn ? 'members' : 'block', { exported: isOwn && reading.frame.exported });
};

export const visitBlock: Visit = (node, reading) => {
  reading.enter(node, 'block');
};
