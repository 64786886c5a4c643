import { identityText } from '../../../../telltale/src/lib/ids.ts';
/** The author of a version in words: `agent:reformer` is the agent reformer. */
export function authorWords(author: string): string {
  if (author === 'manifest') return 'a manifest';
  if (author === 'genesis') return 'built in';
  const [kind = '', ...rest] = author.split(':');
  const name = rest.join(':');
  if (name === '') return author;
  return kind === 'agent' ? `the agent ${name}` : identityText(author);
}

export const isBuiltIn = ({ author }: { readonly author: string }): boolean => author === 'genesis';
