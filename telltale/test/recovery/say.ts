/** Tags, as a script writes them. */
export const action = (id: string, name: string, body: object = {}, mode = ''): string =>
  `<action id="${id}"${mode === '' ? '' : ` mode="${mode}"`}>${JSON.stringify({ name, ...body })}</action>`;

export const text = (value: string): { readonly parameters: { readonly text: string } } => ({
  parameters: { text: value },
});
