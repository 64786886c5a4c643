/** Approval is the first of the options, refusal the last, where none of them is called so. */
export const choiceFor = (said: 'approved' | 'rejected', options: readonly string[]): string => {
  const named = options.find((option) => option === (said === 'approved' ? 'approve' : 'reject'));
  return named ?? (said === 'approved' ? options[0] : options.at(-1)) ?? said;
};
