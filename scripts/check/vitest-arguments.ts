/** How vitest is asked for the tests of a stage. */
export const vitestArguments = (
  project: string,
  report: string,
  { update, filters }: { readonly update: boolean; readonly filters: readonly string[] },
): readonly string[] => [
  'run',
  `--project=${project}*`,
  '--allowOnly=false',
  '--reporter=default',
  '--reporter=json',
  `--outputFile.json=${report}`,
  // With its value: alone, it would take the first filter for one, and every test would run.
  ...(update ? ['--update=all'] : []),
  ...filters,
];
