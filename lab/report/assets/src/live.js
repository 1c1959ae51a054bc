// The live page.
export async function live() {}
