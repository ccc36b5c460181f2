"""The manifests: chart and kustomize base are the same, every Kubernetes they are for takes them, and they are as strict as
they are said to be."""

import json
import re
import shutil
import subprocess

import jsonschema
import kubernetes_validate
import pytest
import yaml

import chart
import gateway

FOLDER = gateway.ROOT / "packaging/kubernetes"
BASE, CHART = FOLDER / "base", FOLDER / "chart"
VERSIONS = [f"1.{minor}" for minor in range(30, 38)]
# What is not Kubernetes' own has no schema there.
CUSTOM = {"HTTPRoute"}

# Values as people will set them, each by what it is for.
OTHERS = {
    "no autoscaler": {"autoscaling": {"enabled": False}, "replicas": 5},
    "processor alone": {"autoscaling": {"callsInFlight": 0}},
    "no redis": {"state": {"url": ""}, "config": {"scale": None}},
    "a sentinel": {"state": {"url": "redis+sentinel://gateway@a:26379,b:26379/main/0"}},
    "nothing beside": {"route": {"enabled": False}, "networkPolicy": {"enabled": False}, "disruptionBudget": {"enabled": False}},
    "namespaces": {"route": {"paths": ["/mcp", "/mcp/work"], "hostnames": ["a.example", "b.example"]}},
    "closed to others": {"networkPolicy": {"clients": [{"namespaceSelector": {"matchLabels": {"team": "edge"}}}]}},
    "all the rest": {
        "image": {"repository": "r.example/m", "tag": "1.2.3-full", "pullPolicy": "Always"},
        "imagePullSecrets": [{"name": "pull"}],
        "secret": "gateway-secrets",
        "env": [{"name": "OTEL_EXPORTER_OTLP_ENDPOINT", "value": "http://collector:4318"}],
        "envFrom": [{"secretRef": {"name": "servers"}}],
        "podAnnotations": {"note": "it's \"quoted\": 1"},
        "nodeSelector": {"kubernetes.io/arch": "amd64"},
        "tolerations": [{"key": "edge", "operator": "Exists"}],
        "config": {"server": {"port": 8443}, "mcpServers": {"docs": {"url": "https://docs.example/mcp"}}},
        "preStopSeconds": 10,
        "terminationGracePeriodSeconds": 90,
    },
}

# Values that must not get through.
WRONG = {
    "a password in the address": {"state": {"url": "redis://user:secret@redis:6379/0"}},
    "no replica": {"replicas": 0},
    "a misspelt key": {"autoscalling": {"enabled": False}},
    "a privileged port": {"config": {"server": {"port": 80}}},
    "metrics for everybody": {"networkPolicy": {"metrics": []}},
    "a path that is all": {"route": {"paths": ["/"]}},
    "no pause before the drain": {"preStopSeconds": 0},
    "limits taken away": {"resources": {"requests": None, "limits": None}},
    "a tag that is a number": {"image": {"tag": 1.2}},
}


def base():
    """Returns the manifests of the base; what its kustomization may say is what is read here."""
    wanted = yaml.safe_load((BASE / "kustomization.yaml").read_text())
    assert set(wanted) == {"apiVersion", "kind", "resources", "configMapGenerator"}, set(wanted)
    found = [each for file in wanted["resources"] for each in yaml.safe_load_all((BASE / file).read_text())]
    for made in wanted["configMapGenerator"]:
        assert made["options"]["disableNameSuffixHash"]
        metadata = {"name": made["name"], "labels": made["options"]["labels"]}
        data = {file: (BASE / file).read_text() for file in made["files"]}
        found.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
    return found


def by_name(manifests):
    """Returns manifests by kind and name. A config is compared by what it says."""
    found = {}
    for each in manifests:
        if each["kind"] == "ConfigMap":
            each = each | {"data": {name: yaml.safe_load(text) for name, text in each["data"].items()}}
        assert found.setdefault((each["kind"], each["metadata"]["name"]), each) is each
    return found


def values(given):
    return chart.merged(yaml.safe_load((CHART / "values.yaml").read_text()), given)


def rendered(name):
    return base() if name == "base" else chart.render(CHART, OTHERS.get(name, {}))


def pod(manifests):
    return by_name(manifests)["Deployment", "manifold"]["spec"]["template"]["spec"]


def schema():
    return json.loads((CHART / "values.schema.json").read_text())


def is_let_through(given):
    return jsonschema.Draft7Validator(schema()).is_valid(values(given))


def test_the_chart_gives_the_base():
    assert by_name(chart.render(CHART, {})) == by_name(base())


@pytest.mark.skipif(not shutil.which("kubectl"), reason="there is no kubectl")
def test_kustomize_reads_the_base_as_we_do():
    done = subprocess.run(["kubectl", "kustomize", str(BASE)], capture_output=True, text=True, timeout=120, check=True)
    assert by_name(yaml.safe_load_all(done.stdout)) == by_name(base())


@pytest.mark.parametrize("name", ["base", *OTHERS])
def test_every_kubernetes_takes_them(name):
    kinds = set()
    for manifest in rendered(name):
        if manifest["kind"] in CUSTOM:
            continue
        # What the base says, all of them are asked about; of other values the oldest and the newest.
        for version in VERSIONS if name == "base" else (VERSIONS[0], VERSIONS[-1]):
            assert kubernetes_validate.validate(manifest, version, strict=True) == version
        kinds.add(manifest["kind"])
    assert {"Deployment", "Service", "ConfigMap"} <= kinds


def test_what_is_wrong_would_be_seen():
    """The schemas know the parts that matter here: a misspelt one is refused, by the oldest as by the newest."""
    for version in (VERSIONS[0], VERSIONS[-1]):
        for path in (["lifecycle", "preStop", "sleep", "second"], ["securityContext", "readOnlyRoot"], ["readinessProbe", "http"]):
            manifest = by_name(base())["Deployment", "manifold"]
            place = manifest["spec"]["template"]["spec"]["containers"][0]
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = 1
            with pytest.raises(kubernetes_validate.ValidationError):
                kubernetes_validate.validate(manifest, version, strict=True)


@pytest.mark.parametrize("name", ["base", *OTHERS])
def test_it_runs_as_nobody_on_a_root_that_cannot_be_written(name):
    spec = pod(rendered(name))
    (container,) = spec["containers"]
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"]["runAsNonRoot"] is True and spec["securityContext"]["runAsUser"] == 65532
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    # No secret is among the variables or the arguments: each is a file.
    secrets = [volume for volume in spec["volumes"] if "secret" in volume]
    assert [volume["secret"]["defaultMode"] for volume in secrets] == [0o440]
    assert spec["securityContext"]["fsGroup"] == spec["securityContext"]["runAsGroup"] == 65532
    assert not [each for each in container["env"] if "secretKeyRef" in each.get("valueFrom", {})]


@pytest.mark.parametrize("name", ["base", *OTHERS])
def test_it_may_finish_what_it_began(name):
    """The pause before the drain and the drain itself fit into what Kubernetes waits."""
    manifests = rendered(name)
    spec = pod(manifests)
    config = by_name(manifests)["ConfigMap", "manifold"]["data"]["config.yaml"]
    pause = spec["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"]
    drain = config["drainTimeout"] + config.get("scale", {}).get("drainDelay", 0)
    assert pause + drain / 1000 < spec["terminationGracePeriodSeconds"]


@pytest.mark.parametrize("name", ["base", *OTHERS])
def test_the_parts_fit_each_other(name):
    manifests = by_name(rendered(name))
    deployment = manifests["Deployment", "manifold"]["spec"]
    labels = deployment["template"]["metadata"]["labels"]
    (container,) = deployment["template"]["spec"]["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    config = manifests["ConfigMap", "manifold"]["data"]["config.yaml"]
    assert ports["http"] == config["server"]["port"] and deployment["selector"]["matchLabels"] == labels
    assert ("replicas" in deployment) == (("HorizontalPodAutoscaler", "manifold") not in manifests)
    for service in ("manifold", "manifold-metrics"):
        spec = manifests["Service", service]["spec"]
        assert spec["selector"] == labels and {port["targetPort"] for port in spec["ports"]} <= set(ports)
    # Metrics are on no service but their own.
    assert [port["targetPort"] for port in manifests["Service", "manifold"]["spec"]["ports"]] == ["http"]

    words = container["args"]
    given = dict(zip(words[1::2], words[2::2]))
    assert words[0] == "http" and given["--replica"] == "$(POD_NAME)"
    assert given["--metrics"] == f"0.0.0.0:{ports['metrics']}"
    assert ("--state" in given) == (name != "no redis")
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert given["--config"] == f"{mounts['config']}/config.yaml"
    files = [given["--state-key-file"], *re.findall(r"/run/secrets/[\w/-]+", json.dumps(config))]
    assert all(file.startswith(f"{mounts['secrets']}/") for file in files)
    for probe, path in (("livenessProbe", "/livez"), ("readinessProbe", "/readyz")):
        assert container[probe]["httpGet"] == {"path": path, "port": "http"}


def test_metrics_are_for_those_who_watch():
    clients, metrics = by_name(base())["NetworkPolicy", "manifold"]["spec"]["ingress"]
    assert [port["port"] for port in clients["ports"]] == ["http"] and "from" not in clients
    assert [port["port"] for port in metrics["ports"]] == ["metrics"] and metrics["from"]


def test_replicas_reach_each_other_where_clients_are_named():
    clients, _ = by_name(rendered("closed to others"))["NetworkPolicy", "manifold"]["spec"]["ingress"]
    labels = pod_labels(rendered("closed to others"))
    assert {"podSelector": {"matchLabels": labels}} in clients["from"] and len(clients["from"]) == 2


def pod_labels(manifests):
    return by_name(manifests)["Deployment", "manifold"]["spec"]["template"]["metadata"]["labels"]


@pytest.mark.parametrize("name", [name for name in ("base", *OTHERS) if name != "nothing beside"])
def test_the_route_publishes_its_paths_and_no_others(name):
    route = by_name(rendered(name))["HTTPRoute", "manifold"]
    assert route["apiVersion"] == "gateway.networking.k8s.io/v1"
    spec = route["spec"]
    assert set(spec) == {"parentRefs", "hostnames", "rules"}
    (rule,) = spec["rules"]
    assert set(rule) == {"matches", "timeouts", "backendRefs"}
    assert {match["path"]["type"] for match in rule["matches"]} == {"Exact"}
    paths = [match["path"]["value"] for match in rule["matches"]]
    own = ["/mcp", "/mcp/work"] if name == "namespaces" else ["/mcp"]
    assert sorted(paths) == sorted([*own, *(f"/.well-known/oauth-protected-resource{path}" for path in own)])
    assert rule["timeouts"] == {"request": "0s"}
    assert rule["backendRefs"] == [{"name": "manifold", "port": 80}]


def test_values_have_a_schema():
    jsonschema.Draft7Validator.check_schema(schema())
    assert set(schema()["properties"]) - {"global"} == set(values({}))
    jsonschema.Draft7Validator(schema()).validate(values({}))
    for name, given in OTHERS.items():
        assert is_let_through(given), name
    for name, given in WRONG.items():
        assert not is_let_through(given), name


def test_values_arrive_where_they_belong():
    spec = pod(rendered("all the rest"))
    (container,) = spec["containers"]
    assert container["image"] == "r.example/m:1.2.3-full" and container["imagePullPolicy"] == "Always"
    assert container["env"][-1]["name"] == "OTEL_EXPORTER_OTLP_ENDPOINT" and container["envFrom"]
    assert spec["terminationGracePeriodSeconds"] == 90
    template = by_name(rendered("all the rest"))["Deployment", "manifold"]["spec"]["template"]
    assert template["metadata"]["annotations"] == OTHERS["all the rest"]["podAnnotations"]
    servers = by_name(rendered("all the rest"))["ConfigMap", "manifold"]["data"]["config.yaml"]["mcpServers"]
    assert set(servers) == {"time", "docs"}
    assert "scale" not in by_name(rendered("no redis"))["ConfigMap", "manifold"]["data"]["config.yaml"]


def test_a_release_of_another_name_stands_beside():
    here, there = (chart.render(CHART, {}, release) for release in ("manifold", "other"))
    assert not by_name(here).keys() & by_name(there).keys()
    assert "manifold" not in {name for _, name in by_name(there)}


def test_the_version_is_filled_in(tmp_path):
    """Sources name no version; what is packed has that of Cargo.toml, and the image of names.json."""
    names = json.loads((gateway.ROOT / "packaging/names.json").read_text())
    fill = str(gateway.ROOT / "packaging/lib/fill.py")
    subprocess.run([fill, "kubernetes", str(tmp_path / "made")], check=True, timeout=60)
    version = subprocess.run([fill, "version"], capture_output=True, text=True, check=True).stdout.strip()
    filled = yaml.safe_load((tmp_path / "made/chart/Chart.yaml").read_text())
    assert filled["version"] == filled["appVersion"] == version
    (container,) = pod(chart.render(tmp_path / "made/chart", {}))["containers"]
    assert container["image"] == f"{names['image']}:{version}"
    made = yaml.safe_load((tmp_path / "made/base/deployment.yaml").read_text())
    assert made["spec"]["template"]["spec"]["containers"][0]["image"] == container["image"]
