/** What is wrong with a JSONPath. */
export interface JsonPathIssue {
  readonly message: string;
  readonly hint: string;
  /** Where in the path. */
  readonly offset: number;
}

/** Thrown while a path is looked through, and caught where that began. */
export class JsonPathRefusal extends Error {
  readonly issue: JsonPathIssue;

  constructor(issue: JsonPathIssue) {
    super(issue.message);
    this.issue = issue;
  }
}
