/** Tags, as a script writes them. */
export const action = (id: string, name: string, body: object = {}, mode = ''): string =>
  `<action id="${id}"${mode === '' ? '' : ` mode="${mode}"`}>${JSON.stringify({ name, ...body })}</action>`;

/** The ids of the `<parallel>`s that a text of such tags leaves open; those without an id are ''. */
export function leftOpen(said: string): readonly string[] {
  const open: string[] = [];
  for (const [tag, id = ''] of said.matchAll(/<parallel(?: id="(\w+)")?>|<\/parallel>/g))
    if (tag === '</parallel>') open.pop();
    else open.push(id);
  return open;
}

export const text = (value: string): { readonly parameters: { readonly text: string } } => ({
  parameters: { text: value },
});
