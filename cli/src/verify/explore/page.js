// Shows the state of the address: the numbers behind `#` are the steps that lead to it.
"use strict";

const at = (id) => document.getElementById(id);
const path = () => location.hash.slice(1).split("/").filter((step) => /^\d+$/.test(step));
const address = (steps) => "#" + steps.join("/");

// Texts come from a file that may be anyone's: they are shown, never read as HTML.
function links(list, texts, href) {
  list.replaceChildren(...texts.map((text, index) => {
    const [item, link] = [document.createElement("li"), document.createElement("a")];
    link.textContent = text;
    link.href = href(index);
    item.append(link);
    return item;
  }));
}

async function show() {
  const steps = path();
  try {
    const answer = await fetch(["states", ...steps].join("/"));
    if (!answer.ok) throw new Error(await answer.text());
    const view = await answer.json();
    if (path().join() !== steps.join()) return;
    at("state").textContent = view.state;
    at("violated").textContent = view.violated.length ? "violated: " + view.violated.join(", ") : "";
    links(at("taken"), ["the beginning", ...view.taken], (index) => address(steps.slice(0, index)));
    links(at("steps"), view.steps, (index) => address([...steps, index]));
    if (view.chart) at("chart").src = "data:image/svg+xml," + encodeURIComponent(view.chart);
    else at("chart").removeAttribute("src");
  } catch (error) {
    at("state").textContent = "There is no such state, or the command has ended. " + error.message;
  }
}

addEventListener("hashchange", show);
show();
